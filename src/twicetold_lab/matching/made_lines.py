"""Files that are made, of lines as machines and offices write them, with their true groups.

They hold what the others have little of: numbers that differ in what is the same, such as times, and one short word or
sign that makes another thing, such as a side, a size or a unit of a house. The generators are seeded.
"""

import random
import tomllib
from pathlib import Path

from twicetold_lab.matching.made import CITIES, COPIES, LAST, LETTERS, Rows, misspelt

WORDS = tomllib.loads(Path(__file__).with_name("made_lines.toml").read_text(encoding="utf-8"))
STREETS = {"street": ("St", "St.", "Street"), "avenue": ("Ave", "Ave.", "Avenue"), "road": ("Rd", "Road", "Rd.")}


def logs(groups: int = 500, seed: int = 5) -> Rows:
    """Return lines of logs; other times, processes and requests are the same event, another host or cause is not."""
    draw, rows = random.Random(seed), []
    events = [
        (level, part, message, host, cause)
        for level, part, message in WORDS["events"]
        for host in WORDS["hosts"]
        for cause in (WORDS["causes"] if "{cause}" in message else ("",))
    ]
    for group, (level, part, message, host, cause) in enumerate(draw.sample(events, min(groups, len(events)))):
        forms = "{time} {level} {part}[{pid}]: {said}", "[{time}] {part}({pid}) {level} {said} req={request}"
        form = draw.choice(forms)
        for _ in range(draw.choice((1, 1, 2, 2, 3, 4, 6))):
            hour, minute, second = draw.randrange(24), draw.randrange(60), draw.randrange(60)
            values = {
                "time": f"2024-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02} {hour:02}:{minute:02}:{second:02}",
                "said": message.format(host=host, cause=cause, count=draw.randrange(1, 500)),
                "request": "".join(draw.choices("0123456789abcdef", k=8)),
                "pid": draw.randrange(100, 30_000),
            }
            rows.append((form.format(level=level, part=part, **values), str(group)))
    return _shuffled(draw, rows)


def parts(series: int = 320, seed: int = 6) -> Rows:
    """Return parts by their numbers, in several spellings; another letter or digit is another part."""
    draw, rows = random.Random(seed), []
    for _ in range(series):
        maker, thing = draw.choice(WORDS["makers"]), draw.choice(WORDS["things"])
        stem = "".join(draw.choices("ABCDEFGHKLMNPRSTVX", k=draw.choice((1, 2, 3))))
        base = draw.randrange(100, 9_999)
        for _ in range(draw.choice((1, 2, 2, 3))):
            number = base + draw.choice((0, 0, 1, 2, 5, 10))
            tail = draw.choice(("", *"SMLXZ", "2RS", "C3", "HD")) + draw.choice(("", "", "", "1", "A"))
            pieces = [stem, f"{number}", *([tail] if tail else [])]
            for _ in range(draw.choice((1, 1, 2, 2, 3))):
                code = draw.choice(("-", "-", "", " ", "/")).join(pieces)
                words = [maker if draw.random() < 0.8 else "", code, draw.choice(thing) if draw.random() < 0.8 else ""]
                if draw.random() < 0.3:
                    words.reverse()
                text = " ".join(filter(None, words))
                rows.append((text.lower() if draw.random() < 0.2 else text, f"{stem}{number}{tail}{maker}{thing[0]}"))
    return _shuffled(draw, rows)


def addresses(houses: int = 420, seed: int = 7) -> Rows:
    """Return addresses with units; another unit of a house, or another house of a street, is another address."""
    draw, rows = random.Random(seed), []
    for _ in range(houses):
        number, name, kind = draw.randrange(1, 999), draw.choice(LAST).title(), draw.choice(list(STREETS))
        city, code = draw.choice(CITIES).title(), draw.randrange(10_000, 99_999)
        for unit in draw.sample([f"{level}{side}" for level in "12345" for side in "ABC"], draw.choice((1, 1, 2, 3))):
            for house in {number, number + draw.choice((0, 0, 2))}:
                for _ in range(draw.choice(COPIES)):
                    mark = draw.choice(("Apt {}", "Apartment {}", "#{}", "Unit {}", "apt. {}")).format(unit)
                    spelt = misspelt(draw, name) if draw.random() < 0.1 else name
                    street = f"{house} {spelt} {draw.choice(STREETS[kind])}"
                    place = draw.choice((f"{city} {code}", f"{code} {city}", city))
                    forms = f"{street} {mark}, {place}", f"{street}, {mark}, {place}", f"{mark}, {street}, {place}"
                    text = draw.choice(forms)
                    rows.append((text.upper() if draw.random() < 0.15 else text, f"{house} {name} {unit} {code}"))
    return _shuffled(draw, rows)


def procedures(groups: int = 700, seed: int = 8) -> Rows:
    """Return medical procedures; another side, organ, number of views or contrast is another one."""
    draw, rows = random.Random(seed), []
    every = [
        (scan, organ, side, contrast)
        for scan in WORDS["scans"]
        for organ in WORDS["organs"]
        for side in WORDS["sides"]
        for contrast in WORDS["contrasts"]
    ]
    for group, (scan, organ, side, contrast) in enumerate(draw.sample(every, groups)):
        for _ in range(draw.choice(COPIES)):
            said = [draw.choice(each) for each in (scan, organ, side, contrast)]
            order = draw.choice(((0, 2, 1, 3), (0, 1, 2, 3), (2, 1, 0, 3), (0, 1, 3, 2)))
            text = draw.choice((" ", " ", ", ")).join(said[place] for place in order if said[place])
            rows.append((text.upper() if draw.random() < 0.3 else text, str(group)))
    return _shuffled(draw, rows)


def posts(groups: int = 900, seed: int = 9) -> Rows:
    """Return posts with links and tags; the same message with other links is the same."""
    draw, rows = random.Random(seed), []
    for group in range(groups):
        form, thing, city = draw.choice(WORDS["posts"]), draw.choice(WORDS["topics"]), draw.choice(CITIES).title()
        said = form.format(thing=thing, city=city, count=draw.randrange(2, 60), who=draw.choice(LAST).title())
        for _ in range(draw.choice((1, 1, 2, 3, 4))):
            words = said.split()
            if draw.random() < 0.3:
                words = [f"#{word}" if word == thing.split()[-1] else word for word in words]
            if draw.random() < 0.2:
                words[draw.randrange(len(words))] = misspelt(draw, draw.choice(words))
            if draw.random() < 0.3:
                words = [*words[: draw.randrange(max(4, len(words) - 3), len(words) + 1)], "…"]
            link = "".join(draw.choices(LETTERS + LETTERS.upper() + "0123456789", k=8))
            before = f"RT @{draw.choice(LAST)}{draw.randrange(100)}: " if draw.random() < 0.3 else ""
            tags = " ".join(f"#{draw.choice(WORDS['tags'])}" for _ in range(draw.choice((0, 0, 1, 2))))
            rows.append((f"{before}{' '.join(words)} https://t.co/{link} {tags}".strip(), str(group)))
    return _shuffled(draw, rows)


def scripts(articles: int = 420, seed: int = 10) -> Rows:
    """Return products of texts in Chinese and Japanese, without blanks; another size or colour is another product."""
    draw, rows, group = random.Random(seed), [], 0
    for _ in range(articles):
        brand, (thing, unit, sizes) = draw.choice(WORDS["han_brands"]), draw.choice(WORDS["han_things"])
        stem = "".join(draw.choices("abcdefghkmnprstvx", k=draw.choice((1, 2, 3))))
        code = f"{stem}{draw.choice(('', '-'))}{draw.randrange(10, 9_999)}" if draw.random() < 0.7 else ""
        for size in draw.sample(sizes, draw.choice((1, 1, 2))):
            for colour in draw.sample(WORDS["han_colours"], draw.choice((1, 1, 2))):
                group += 1
                for _ in range(draw.choice(COPIES)):
                    words = [draw.choice(brand), code.upper() if draw.random() < 0.5 else code, draw.choice(thing)]
                    words += [f"{size}{draw.choice(unit)}", draw.choice(colour) if draw.random() < 0.85 else ""]
                    if draw.random() < 0.3:
                        draw.shuffle(words)
                    words += [draw.choice(WORDS["han_more"])] if draw.random() < 0.4 else []
                    rows.append((draw.choice(("", "", "", " ")).join(filter(None, words)), str(group)))
    return _shuffled(draw, rows)


def flights(groups: int = 800, seed: int = 11) -> Rows:
    """Return flights on a day; another airline, number, day or direction is another flight."""
    draw, rows = random.Random(seed), []
    for _ in range(groups):
        (letters, airline), number = draw.choice(WORDS["airlines"]), draw.randrange(100, 9_999)
        start, end = draw.sample(CITIES, 2)
        day, month, hour, minute = draw.randrange(1, 29), draw.randrange(12), draw.randrange(24), 5 * draw.randrange(12)
        for shift in {0, draw.choice((0, 0, 1, 7))}:
            for _ in range(draw.choice(COPIES)):
                flight = f"{draw.choice((letters, f'{letters} ', f'{airline} ', f'{airline} flight '))}{number}"
                on = WORDS["months"][month]
                when = draw.choice((f"{day + shift} {on}", f"{on} {day + shift}", f"{day + shift:02}.{month + 1:02}."))
                when += draw.choice(("", "", f" {hour:02}:{minute:02}"))
                way = draw.choice((" to ", " - ", "/")).join((start.title(), end.title()))
                text = draw.choice((f"{flight} {way} {when}", f"{when} {flight} {way}", f"{way}, {flight}, {when}"))
                rows.append((text, f"{letters}{number} {start} {end} {day + shift}.{month}"))
    return _shuffled(draw, rows)


def _shuffled(draw: random.Random, rows: list[tuple[str, str]]) -> Rows:
    draw.shuffle(rows)
    return [text for text, _ in rows], [group for _, group in rows]
