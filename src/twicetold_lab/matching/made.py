"""Files that are made: persons, tickets with numbers, variants of products, releases, with their true groups.

They hold what public files have little of: names that are abbreviated or turned round, and texts that are the same but
for a number. The generators are seeded, so the same rows are made each time.
"""

import random
from typing import TypeAlias

Rows: TypeAlias = tuple[list[str], list[str]]
"""Texts, and the group of each."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST = (
    "james mary robert patricia john jennifer michael linda david elizabeth william barbara richard susan "
    "joseph jessica thomas sarah christopher karen charles lisa daniel nancy matthew betty anthony sandra mark "
    "margaret donald ashley steven kimberly andrew emily paul donna joshua michelle kenneth carol kevin amanda "
    "brian melissa timothy deborah ronald stephanie jason rebecca george sharon jeffrey laura ryan cynthia "
    "jacob kathleen nicholas amy gary angela eric shirley jonathan brenda stephen emma "
).split()
LAST = (
    "smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson "
    "anderson thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis "
    "robinson walker young allen king wright scott torres nguyen hill flores green adams nelson baker hall "
    "rivera campbell mitchell carter roberts gomez phillips evans turner diaz parker cruz edwards collins "
    "reyes stewart morris morales murphy cook rogers gutierrez ortiz morgan cooper peterson bailey reed kelly "
    "howard ramos kim cox ward richardson watson brooks chavez wood james bennett gray mendoza ruiz hughes "
    "price alvarez castillo sanders patel myers long ross foster "
).split()
CITIES = (
    "berlin paris london madrid rome vienna oslo dublin lisbon prague warsaw athens helsinki brussels zurich "
    "hamburg munich lyon milan porto "
).split()
SHORT = {
    "james": "jim",
    "robert": "bob",
    "john": "jon",
    "michael": "mike",
    "david": "dave",
    "elizabeth": "liz",
    "william": "bill",
    "richard": "rick",
    "joseph": "joe",
    "jessica": "jess",
    "thomas": "tom",
    "christopher": "chris",
    "daniel": "dan",
    "matthew": "matt",
    "anthony": "tony",
    "steven": "steve",
    "andrew": "andy",
    "joshua": "josh",
    "kenneth": "ken",
    "timothy": "tim",
    "ronald": "ron",
    "nicholas": "nick",
    "jonathan": "jon",
    "stephen": "steve",
    "jennifer": "jen",
    "patricia": "pat",
    "rebecca": "becky",
    "kimberly": "kim",
    "margaret": "maggie",
    "deborah": "debbie",
}
ISSUES = [
    ("not delivered", "has not arrived", "still missing", "never came"),
    ("arrived damaged", "was broken on arrival", "came damaged", "has a crack"),
    ("charged twice", "billed two times", "double charge", "was paid twice"),
    ("wrong size", "does not fit", "size is wrong", "too small"),
    ("cannot log in", "login fails", "unable to sign in", "sign-in error"),
    ("refund not received", "still waiting for my money back", "no refund yet", "money not returned"),
    ("password reset mail missing", "no password reset email", "reset link never sent", "password link not received"),
    ("address change", "please change my address", "update delivery address", "new shipping address"),
    ("invoice missing", "need an invoice", "please send the invoice", "no invoice attached"),
    ("app crashes on start", "application closes at launch", "app does not open", "crash when starting the app"),
]
BRANDS = ("Acme Borg Zentek Norda Kelvion Hartmann Luxor Brixton Omnia Pallas ").split()
ARTICLES = [
    ("cordless drill", "drill driver", "battery drill"),
    ("office chair", "swivel chair", "desk chair"),
    ("usb cable", "charging cable", "usb lead"),
    ("led bulb", "led lamp", "light bulb led"),
    ("running shoe", "running shoes", "trainers"),
    ("coffee machine", "espresso machine", "coffee maker"),
    ("memory card", "sd card", "flash memory card"),
    ("garden hose", "water hose", "hose pipe"),
    ("paint", "wall paint", "interior paint"),
    ("backpack", "rucksack", "bag pack"),
]
COLOURS = ("black white blue red green grey silver ").split()
MEASURES = [
    ("v", (12, 18, 24, 36)),
    ("gb", (16, 32, 64, 128, 256)),
    ("m", (1, 2, 3, 5, 10, 25)),
    ("w", (5, 7, 9, 12, 15)),
    ("l", (1, 2, 5, 10, 20)),
    ("cm", (38, 40, 42, 44, 60, 90)),
]
VERBS = [
    ("adds", "introduces", "now has"),
    ("fixes", "resolves", "corrects"),
    ("removes", "drops", "no longer has"),
    ("improves", "speeds up", "makes faster"),
]
COMPONENTS = (
    "login search export import cache parser scheduler installer updater sync editor viewer printer backup "
).split()
COPIES = (1, 1, 1, 2, 2, 3)  # texts of a group


def names(groups: int = 1_200, seed: int = 1) -> Rows:
    """Persons with their place of work."""
    draw, rows = random.Random(seed), []
    for group in range(groups):
        first, last, middle = draw.choice(FIRST), draw.choice(LAST), draw.choice(LETTERS)
        place = f"{draw.choice(('university of', 'institute', 'college', 'hospital', 'bank of'))} {draw.choice(CITIES)}"
        rows += [(_name(draw, first, last, middle, place), str(group)) for _ in range(draw.choice(COPIES))]
    return [text for text, _ in rows], [group for _, group in rows]


def _name(draw: random.Random, first: str, last: str, middle: str, place: str) -> str:
    first = SHORT.get(first, first) if draw.random() < 0.25 else first
    first = first[0] + "." if draw.random() < 0.15 else first
    last = misspelt(draw, last) if draw.random() < 0.15 else last
    between = draw.choice((f" {middle}. ", " ", " ", f" {middle} "))
    text = f"{first}{between}{last}" if draw.random() < 0.6 else f"{last}, {first}{between}".strip()
    text += f", {place}" if draw.random() < 0.8 else ""
    return text.title() if draw.random() < 0.7 else text


def tickets(groups: int = 1_200, seed: int = 2) -> Rows:
    """Complaints about an order; another number is another order."""
    draw, rows = random.Random(seed), []
    marks = ("", "#", "no. ", "ORD-")
    for group in range(groups):
        issue, number = draw.choice(ISSUES), draw.randrange(10_000, 100_000)
        customer, city, thing = draw.choice(LAST), draw.choice(CITIES), draw.choice(("order", "parcel", "shipment"))
        for _ in range(draw.choice(COPIES)):
            said = draw.choice(issue) if draw.random() < 0.6 else issue[0]
            order = f"{thing} {draw.choice(marks)}{number}"
            forms: tuple[str, ...] = (f"{order} {said}", f"{said}: {order}", f"{order} ({city}) {said}")
            forms += (f"Customer {customer}: {order} {said}", f"{city}: {said}, {order}")
            rows.append((draw.choice(forms), str(group)))
    return [text for text, _ in rows], [group for _, group in rows]


def variants(articles: int = 350, seed: int = 3) -> Rows:
    """Products in several sizes and colours, each of which is another product."""
    draw, rows, group = random.Random(seed), [], 0
    for _ in range(articles):
        brand, article = draw.choice(BRANDS), draw.choice(ARTICLES)
        unit, values = draw.choice(MEASURES)
        code = draw.choice("ABCDKLTX") + draw.choice(("", "R", "S", "-")) + str(draw.randrange(100, 9_999))
        code = code if draw.random() < 0.6 else ""
        for value in draw.sample(values, draw.choice((1, 2, 3))):
            for colour in draw.sample(COLOURS, draw.choice((1, 1, 2))):
                group += 1
                some = range(draw.choice((1, 1, 2, 2, 3)))
                rows += [(_variant(draw, brand, article, code, f"{value} {unit}", colour), str(group)) for _ in some]
    return [text for text, _ in rows], [group for _, group in rows]


def _variant(draw: random.Random, brand: str, article: tuple[str, ...], code: str, measure: str, colour: str) -> str:
    parts = [brand if draw.random() < 0.9 else "", code if draw.random() < 0.85 else ""]
    parts[1] = parts[1].replace("-", "") if draw.random() < 0.4 else parts[1]
    parts += [draw.choice(article) if draw.random() < 0.5 else article[0]]
    parts += [draw.choice((measure, measure.upper(), measure.replace(" ", "")))]
    parts += [colour if draw.random() < 0.85 else ""]
    if draw.random() < 0.3:
        draw.shuffle(parts)
    if draw.random() < 0.3:
        parts.append(draw.choice(("new", "with warranty", "free shipping", "2-pack", "original")))
    return " ".join(filter(None, parts))


def releases(groups: int = 900, seed: int = 4) -> Rows:
    """Notes on releases of programs; another version is another release."""
    draw, rows = random.Random(seed), []
    for group in range(groups):
        program = draw.choice(("Open", "Fast", "Lib", "Net", "Data")) + draw.choice(("Mail", "Graph", "Chart", "View"))
        version = f"{draw.randrange(1, 5)}.{draw.randrange(10)}"
        version += f".{draw.randrange(6)}" if draw.random() < 0.5 else ""
        verbs, part, year = draw.choice(VERBS), draw.choice(COMPONENTS), draw.choice((2019, 2020, 2021))
        for _ in range(draw.choice(COPIES)):
            forms: tuple[str, ...] = (
                f"{program} {version} {draw.choice(verbs)} {part}",
                f"Release {version} of {program} {verbs[0]} {part}",
            )
            forms += (f"{program} v{version} released: {draw.choice(verbs)} {part}",)
            forms += (
                f"{program} version {version} ({year}) {verbs[0]} the {part}",
                f"{program} {version}: {part} support",
            )
            rows.append((draw.choice(forms), str(group)))
    return [text for text, _ in rows], [group for _, group in rows]


def misspelt(draw: random.Random, word: str) -> str:
    """A word with a letter that is missing, swapped, another, or too many; short ones as they are."""
    if len(word) < 4:
        return word
    at = draw.randrange(1, len(word) - 1)
    letter = draw.choice(LETTERS)
    return draw.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + letter + word[at + 1 :],
            word[:at] + letter + word[at:],
        )
    )


def small_change(draw: random.Random, text: str) -> str:
    """A copy of a text with a spelling error or two, a word less or twice, or other punctuation; numbers are kept."""
    words = text.split()
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(words)) if words else 0
        change = draw.randrange(4)
        if not words or any(map(str.isdigit, words[at])):
            continue
        if change < 2:
            words[at] = misspelt(draw, words[at])
        elif change == 2 and len(words) > 5:
            del words[at]
        else:
            words[at] += draw.choice((",", ".", " -", "!"))
    return " ".join(words)
