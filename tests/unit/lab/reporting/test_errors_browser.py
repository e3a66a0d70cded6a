"""The filters of the page in headless Chromium, where it is installed."""

import re
import shutil
import subprocess

import pytest

from twicetold_lab.reporting.rendering import content_of

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def title_of(tmp_path):
    """The title that a page has once its script has run."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")

    def _title_of(text, *options):
        page = tmp_path / "page.html"
        page.write_text(text)
        line = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *options, "--dump-dom", page.as_uri()]
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=True)
        return re.search("<title>(.*?)</title>", done.stdout)[1]

    return _title_of


PAGE = """<!doctype html><body><div class="mistakes" data-models="dae film">
<form class="filter" hidden><select name="wrong"><option value=""></option><option>dae</option><option>film</option>
</select><select name="right"><option value=""></option><option>dae</option><option>film</option></select>
<input type="checkbox" name="slice" value="long"><output></output></form><table><tbody>
<tr id="a" data-p="60 90" data-w="11" data-s=""><th>a</th><td>not the same</td><td>film 90 %, dae 60 %</td></tr>
<tr id="b" data-p="80 10" data-w="10" data-s="long digits"><th>b</th><td>not the same</td><td>dae 80 %</td></tr>
<tr id="c" data-p="5 95" data-w="10" data-s="long"><th>c</th><td>same</td><td>dae 5 %</td></tr>
<tr id="d" data-p="39 45" data-w="10" data-s="digits"><th>d</th><td>not the same</td><td>dae 39 %</td></tr>
</tbody></table></div><script>SCRIPT
const form = document.forms[0];
CHOSEN
form.dispatchEvent(new Event("input"));
document.title = [...document.querySelectorAll("tr:not([hidden])")].map((row) => row.id + row.cells[2].textContent)
  .join(";") + "|" + form.querySelector("output").textContent + "|" + form.hidden;
</script>"""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("", "afilm 90 %, dae 60 %;bdae 80 %;cdae 5 %;ddae 39 %|4 of 4 pairs|false"),
        ("form.wrong.value = 'dae';", "cdae 5 %;bdae 80 %;adae 60 %;ddae 39 %|4 of 4 pairs|false"),
        ("form.wrong.value = 'film';", "afilm 90 %|1 of 4 pairs|false"),
        (
            "form.wrong.value = 'dae'; form.right.value = 'film';",
            "cdae 5 %, film 95 %;bdae 80 %, film 10 %;ddae 39 %, film 45 %|3 of 4 pairs|false",
        ),
        ("form.slice.checked = true;", "bdae 80 %;cdae 5 %|2 of 4 pairs|false"),
    ],
)
def test_filters_leave_the_mistakes_of_the_chosen_models_the_surest_first(chosen, expected, title_of):
    assert title_of(PAGE.replace("SCRIPT", content_of("errors.js")).replace("CHOSEN", chosen)) == expected


OF_DATA = """<!doctype html><body><nav><label hidden><select><option value="">all</option>
<option value="data-a b">a b</option><option value="data-c">c</option></select></label></nav>
<section id="data-a b" data-of="data-a b"></section><section id="data-c" data-of="data-c"></section>
<script>location.hash = HASH; SCRIPT
const select = document.querySelector("select");
CHOSEN
setTimeout(() => { document.title = [...document.querySelectorAll("section:not([hidden])")].map((each) => each.id)
  .join(";") + "|" + decodeURIComponent(location.hash); }, 200);
</script>"""


@pytest.mark.parametrize(
    ("hash_", "chosen", "expected"),
    [
        ("", "", "data-a b;data-c|"),
        ("#only=data-a%20b", "", "data-a b|#only=data-a b"),
        ("#only=data-c", "location.hash = '#data-a b';", "data-a b;data-c|#data-a b"),
        ("", "select.value = 'data-c'; select.dispatchEvent(new Event('input'));", "data-c|#only=data-c"),
    ],
)
def test_one_dataset_can_be_shown_alone_and_a_link_to_another_one_shows_it(hash_, chosen, expected, title_of):
    page = OF_DATA.replace("HASH", f"{hash_!r}").replace("SCRIPT", content_of("only.js")).replace("CHOSEN", chosen)
    assert title_of(page, "--virtual-time-budget=2000") == expected


SHOWN = """<!doctype html><style>.off { display: none; }</style><body><details class="shown" hidden><form>
<input type="checkbox" checked><input type="checkbox" value="dae" checked><input type="checkbox" value="film" checked>
</form></details><svg><g id="a" data-model="dae"></g><g id="b" data-model="film"></g></svg>
<svg><g id="c" data-model="dae"></g><g id="d" data-model="a topic"></g></svg>
<script>SCRIPT
const [all, dae, film] = document.querySelectorAll("input");
for (const box of CHOSEN) { box.checked = !box.checked; box.dispatchEvent(new Event("input", { bubbles: true })); }
document.title = [...document.querySelectorAll("g")].filter((each) => getComputedStyle(each).display !== "none")
  .map((each) => each.id).join("") + "|" + all.checked + "|" + document.querySelector("details").hidden;
</script>"""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("[]", "abcd|true|false"),
        ("[dae]", "bd|false|false"),
        ("[all]", "d|false|false"),
        ("[all, dae]", "acd|false|false"),
        ("[dae, dae]", "abcd|true|false"),
    ],
)
def test_models_are_left_out_of_every_figure_and_come_back(chosen, expected, title_of):
    assert title_of(SHOWN.replace("SCRIPT", content_of("shown.js")).replace("CHOSEN", chosen)) == expected


LONG = """<!doctype html><style>STYLE html { scroll-behavior: auto !important; }</style><body>
<nav><a href="#far">far</a></nav>
<main><div style="height: 9000px"></div><h2 id="far">far</h2><div style="height: 9000px"></div></main><script>
document.getElementById("far").scrollIntoView();
const [nav, far] = ["nav", "#far"].map((name) => document.querySelector(name).getBoundingClientRect());
document.title = [nav.top, far.top > Math.max(nav.bottom, 0) - 1, far.top < 200].join("|");
</script>"""


@pytest.mark.parametrize(("window", "stays"), [("1400,1000", True), ("390,800", False)])
def test_the_contents_stay_in_view_and_cover_no_heading_but_leave_a_phone_its_room(window, stays, title_of):
    found = title_of(LONG.replace("STYLE", content_of("style.css")), f"--window-size={window}")
    top, below, near = found.split("|")
    assert (top == "0") == stays
    assert (below, near) == ("true", "true")
