"""Colours of models are told apart with each kind of colour blindness, on paper and on a screen, light and dark."""

import re
from itertools import combinations

import numpy as np
import pytest

from twicetold_lab.reporting.html import content_of

# Machado, Oliveira and Fernandes, IEEE Transactions on Visualization and Computer Graphics 2009, severity 1.
SEEN = {
    "by all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])
SCHEMES = ("light", "dark", "print")


def colours(scheme):
    """The paper and the colours of models in one of the style sheet's schemes, in the order of the file."""
    block = re.findall(r":root \{(.*?)\}", str(content_of("style.css")), re.DOTALL)[SCHEMES.index(scheme)]
    found = dict(re.findall(r"--(\w+): (#[0-9a-f]+)", block))
    return linear(found["paper"]), [linear(found[f"c{n}"]) for n in range(8)]


def linear(code):
    code = code if len(code) == 7 else "#" + "".join(2 * digit for digit in code[1:])
    values = np.array([int(code[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    share = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", SEEN)
def test_no_two_colours_look_alike(scheme, kind):
    seen = [lab(np.array(SEEN[kind]) @ colour) for colour in colours(scheme)[1]]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 15


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lines_stand_out_from_the_paper(scheme):
    paper, found = colours(scheme)
    for colour in found:
        darker, lighter = sorted([TO_XYZ[1] @ paper, TO_XYZ[1] @ colour])
        assert (lighter + 0.05) / (darker + 0.05) >= 3  # WCAG 2.2, 1.4.11
