"""Generated questions: the same one asked in other words, and others asked in the same words.

Questions come in families, which never meet: a question with its paraphrases (other rules and names, so few shared
words), its twins (the same words with one thing changed: a name, a number, the direction, the attitude) and a
stranger that asks about something else. Duplicates pair paraphrases; negatives pair a question with the twin that
shares most of its words, with the twin's paraphrase, and with the stranger.

The labels have the form of the first Quora release
(https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold.data.corpus import Corpus
from twicetold.data.sources import pair_corpus
from twicetold.data.sources.toy_grammar import Lexicon, Meaning, Scheme, another, fill, tell
from twicetold.data.splits import by_group

FRACTIONS = (0.6, 0.2, 0.2)  # of question families
DUPLICATE = "duplicate"

LEXICON: Lexicon = {
    "cities": (
        "Paris", "Rome", "Delhi|New Delhi", "Tokyo", "Berlin", "New York|NYC", "Mumbai|Bombay", "London", "Madrid",
        "Dubai", "Toronto", "Sydney", "Cairo", "Istanbul", "San Francisco|SF", "Bangkok", "Vienna", "Chicago",
    ),
    "country": (
        "Canada", "Germany", "Australia", "Japan", "the UK|Great Britain", "the USA|America", "India", "Norway",
        "Brazil", "Spain", "Italy", "South Korea|Korea", "New Zealand", "Singapore",
    ),
    "tongue": (
        "Spanish", "Mandarin|Chinese", "French", "German", "Japanese", "Arabic", "Hindi", "Italian", "Korean",
        "Russian",
    ),
    "code": ("Python", "Java", "C++", "JavaScript|JS", "Rust", "Go|Golang", "Ruby", "Swift", "Kotlin", "PHP"),
    "job": (
        "software engineer|programmer", "teacher|school teacher", "nurse", "accountant", "lawyer|attorney", "pilot",
        "data analyst|analyst", "chef|cook", "architect", "journalist|reporter", "mechanical engineer", "pharmacist",
    ),
    "subject": (
        "algebra", "organic chemistry", "economics", "world history|history", "statistics", "machine learning|ML",
        "philosophy", "astronomy", "photography", "music theory", "electronics", "marketing",
    ),
    "pet": ("dog|puppy", "cat|kitten", "rabbit|bunny", "hamster", "parrot", "guinea pig", "turtle|tortoise"),
    "food": (
        "grapes", "chocolate", "cheese", "bread", "raw carrots|carrots", "peanut butter", "eggs", "bananas", "rice",
        "tomatoes",
    ),
    "dish": (
        "rice", "pasta", "salmon", "a steak|steak", "lentils", "potatoes", "chicken breast|chicken",
        "sourdough bread", "quinoa",
    ),
    "stain": ("red wine", "coffee", "ink", "blood", "grass", "oil|grease", "turmeric"),
    "fabric": (
        "a carpet|a rug", "a white shirt|a white blouse", "a leather sofa|a leather couch", "jeans", "a mattress",
        "a silk dress",
    ),
    "phone": (
        "an iPhone|my iPhone", "an Android phone|my Android", "a Samsung Galaxy|my Galaxy", "a Pixel|my Pixel phone",
    ),
    "device": (
        "laptop", "router|Wi-Fi router", "washing machine|washer", "dishwasher", "printer", "television|TV",
        "fridge|refrigerator",
    ),
    "fault": (
        "making a loud noise|so noisy", "overheating|getting hot", "switching itself off|shutting down",
        "leaking water|leaking", "flashing a red light|blinking red",
    ),
    "ailment": (
        "high blood pressure|hypertension", "diabetes", "kidney stones", "acid reflux|heartburn", "gout",
        "anemia|iron deficiency", "migraines|headaches", "eczema", "high cholesterol|cholesterol",
    ),
    "format": (
        "PDF", "Word|a Word document", "JPG|a JPEG image", "Excel|a spreadsheet", "HTML", "plain text|a text file",
        "PowerPoint",
    ),
    "service": ("Gmail", "Outlook", "Yahoo Mail", "iCloud", "Dropbox", "Google Drive", "OneDrive"),
    "app": ("WhatsApp", "Instagram", "Facebook", "Snapchat", "Telegram", "Twitter", "Spotify", "Uber"),
    "notice": (
        "read receipts", "push notifications|notifications", "location sharing", "automatic updates|auto updates",
        "dark mode",
    ),
    "share": ("Apple", "Tesla", "gold", "Bitcoin|BTC", "Amazon", "index funds", "government bonds|bonds", "silver"),
    "dream": (
        "teeth falling out|losing teeth", "being chased", "flying", "snakes", "an old friend", "missing an exam",
        "water",
    ),
    "weight": ("lose|drop|shed", "gain|put on|add"),
    "attitude": ("eat|have", "avoid|stay away from"),
    "side": ("advantages|benefits|pros", "disadvantages|drawbacks|cons"),
    "trade": ("buy|invest in|purchase", "sell|get rid of|dump"),
    "switch": ("turn on|enable|activate", "turn off|disable|deactivate"),
    "level": ("beginners|a complete beginner|someone new", "experts|an advanced learner|someone experienced"),
    "change": ("raise|increase|boost", "lower|reduce|bring down"),
    "number": (
        "2|two", "3|three", "4|four", "5|five", "6|six", "8|eight", "10|ten", "12|twelve", "15|fifteen", "20|twenty",
    ),
    "age": ("25", "28", "30|thirty", "35", "40|forty", "45", "50|fifty", "60|sixty"),
    "vital": (
        "testosterone", "blood sugar|glucose levels", "body temperature", "heart rate|pulse", "metabolism",
        "blood pressure",
    ),
}  # fmt: skip

NUMBERS = ("number", "age")
ATTITUDES = (
    "weight",
    "attitude",
    "side",
    "trade",
    "switch",
    "level",
    "change",
)  # the one against the other

INTENTS: tuple[Scheme, ...] = (
    Scheme("travel time", {"a": "cities", "b": "cities"}, (
        "How long does it take to [travel|get|go] from {a} to {b}?",
        "[If I leave {a} in the morning,|Starting in {a},] when [will|would] I [reach|arrive in] {b}?",
        "How many hours is the [trip|journey] {a} to {b}?",
        "[Can someone|Could you] tell me the travel time to {b} for a person coming from {a}?",
    )),
    Scheme("flight", {"a": "cities", "b": "cities"}, (
        "What is the cheapest [flight|airline] from {a} to {b}?",
        "How [can|do] I find [low cost|budget] tickets to {b} when flying out of {a}?",
        "Which carriers [offer|sell] [affordable|inexpensive] fares {a} to {b}?",
        "[Any tips for|What are some tips for] [saving money on|booking] air travel to {b} out of {a}?",
    )),
    Scheme("migration", {"a": "country", "b": "country"}, (
        "How can I move from {a} to {b} [permanently|for good]?",
        "What is the [process|procedure] for [immigrating|emigrating] to {b} as a citizen of {a}?",
        "Which visa does [someone|a person] from {a} need to [settle|live] in {b}?",
        "I live in {a}. [Is it hard|How hard is it] to get [residency|a residence permit] in {b}?",
    )),
    Scheme("convert", {"a": "format", "b": "format"}, (
        "How do I convert {a} to {b}?",
        "What is the best [free tool|software] for turning {a} into {b}?",
        "[Is there a way|Is it possible] to get {b} out of {a} without losing [layout|quality]?",
        "[Which|What] program [changes|transforms] files: {a} in, {b} out?",
    )),
    Scheme("mail move", {"a": "service", "b": "service"}, (
        "How do I [transfer|move] everything from {a} to {b}?",
        "What is the easiest way of [migrating|switching] to {b} if all my [stuff|data] is on {a}?",
        "I want to leave {a}. How can I import my [files|messages] into {b}?",
    )),
    Scheme("career", {"a": "job", "b": "job"}, (
        "How can [a|an experienced] {a} become a {b}?",
        "Is it [possible|realistic] to switch careers to {b} after [years|a decade] as a {a}?",
        "I work as a {a}, what should I study to [get hired|find employment] as a {b}?",
        "Has [anyone|anybody] retrained as a {b} having been a {a} before?",
    )),
    Scheme("second tongue", {"a": "tongue", "b": "tongue"}, (
        "Is {b} easy to learn if I [already|] speak {a}?",
        "How difficult would {b} be for a native {a} speaker?",
        "Does knowing {a} help [when picking up|with mastering] {b}?",
    )),
    Scheme("second code", {"a": "code", "b": "code"}, (
        "Should I learn {a} before {b}?",
        "Is it better to start [programming|coding] with {a} and [pick up|continue with] {b} afterwards?",
        "Does it make sense to [study|begin with] {a} first and {b} second?",
    )),
    Scheme("tongue time", {"a": "tongue", "n": "number"}, (
        "Can I learn {a} in {n} months?",
        "Is it possible to become fluent in {a} within {n} months?",
        "What is a good [study plan|schedule] for speaking {a} after only {n} months?",
        "How much {a} could [a person|one] realistically master given {n} months?",
    )),
    Scheme("kilos", {"w": "weight", "n": "number"}, (
        "How can I {w} {n} kg [in a month|fast|quickly]?",
        "What [diet|meal plan] will help me {w} {n} kilos?",
        "[Best|Most effective] exercises for people who want to {w} {n} kilograms?",
        "My doctor says I should {w} around {n} kg, where do I begin?",
    )),
    Scheme("savings", {"n": "number", "c": "country"}, (
        "How can I save {n} thousand dollars [a|per] year living in {c}?",
        "What are [good|smart] ways to put aside {n} thousand annually [on|with] a {c} salary?",
        "Would saving {n} grand every year be realistic in {c}?",
    )),
    Scheme("too old", {"j": "job", "n": "age"}, (
        "Is {n} too old to become a {j}?",
        "Can I [start|begin] a career as a {j} at the age of {n}?",
        "I am {n}. Do I still have a chance of being hired as a {j}?",
        "Am I too late to train as a {j} when I turn {n}?",
    )),
    Scheme("diet", {"x": "attitude", "d": "ailment"}, (
        "What [foods|things] should I {x} [if I have|with] {d}?",
        "Which [foods|dishes] must patients suffering from {d} {x}?",
        "[Nutrition advice|Diet] for {d}: what to {x}?",
        "My mother was diagnosed with {d}, what does she need to {x}?",
    )),
    Scheme("pros", {"x": "side", "j": "job"}, (
        "What are the {x} of being a {j}?",
        "Can you list {x} of working as a {j}?",
        "Which {x} does a career as a {j} [have|bring]?",
    )),
    Scheme("living", {"x": "side", "c": "country"}, (
        "What are the {x} of living in {c}?",
        "What {x} have [expats|foreigners] found after moving to {c}?",
        "[Thinking of relocating|I may relocate] to {c}: which {x} should I know about?",
    )),
    Scheme("trade", {"x": "trade", "s": "share"}, (
        "Should I {x} {s} [now|this year|today]?",
        "Is this a good time to {x} {s}?",
        "Would [an expert|you] {x} {s} at [the current|today's] price?",
        "Why do so many people {x} {s} at the moment?",
    )),
    Scheme("switch", {"x": "switch", "n": "notice", "p": "phone"}, (
        "How do I {x} {n} on {p}?",
        "Where is the setting to {x} {n} for {p}?",
        "[Is there any way|Is it possible] to {x} {n} with {p}?",
    )),
    Scheme("account", {"x": "switch", "n": "notice", "p": "app"}, (
        "How do I {x} {n} in {p}?",
        "Which menu lets [people|users] {x} {n} for {p}?",
        "Does {p} [allow me to|let you] {x} {n}?",
    )),
    Scheme("book", {"s": "subject", "l": "level"}, (
        "What is the best book on {s} for {l}?",
        "Which textbooks about {s} would you recommend to {l}?",
        "What should {l} read to get better at {s}?",
        "[Good|Great] {s} resources for {l}?",
    )),
    Scheme("vital", {"x": "change", "v": "vital"}, (
        "How can I {x} my {v} [naturally|at home]?",
        "What are natural ways to {x} {v}?",
        "Which [foods|habits] help {x} {v} without medication?",
        "Home remedies that {x} {v}?",
    )),
    Scheme("pet food", {"p": "pet", "f": "food"}, (
        "Can I feed my {p} {f}?",
        "Is it [safe|dangerous] for a {p} to eat {f}?",
        "What happens when a {p} swallows {f}?",
        "Will {f} [harm|hurt|poison] my {p}?",
    )),
    Scheme("fault", {"d": "device", "f": "fault"}, (
        "Why is my {d} {f}?",
        "How do I fix a {d} that keeps {f}?",
        "[What could be|What is] the reason for a {d} {f}?",
        "My {d} keeps {f}. [Should I|Do I need to] call a repairman?",
    )),
    Scheme("stain", {"s": "stain", "f": "fabric"}, (
        "How do you get {s} out of {f}?",
        "What removes {s} stains from {f}?",
        "I spilled {s} on {f}. How can I clean it?",
        "Best cleaning trick for {f} with {s} on it?",
    )),
    Scheme("cook", {"d": "dish", "n": "number"}, (
        "How do I cook {d} for {n} people?",
        "How much {d} should I prepare when {n} guests are coming?",
        "What is the right quantity of {d} to serve {n}?",
    )),
    Scheme("salary", {"j": "job", "c": "country"}, (
        "How much does a {j} earn in {c}?",
        "What is the average salary of a {j} in {c}?",
        "Is being a {j} well paid in {c}?",
        "What [pay|income] can I expect in {c} working as a {j}?",
    )),
    Scheme("season", {"c": "country", "n": "number"}, (
        "What is the best time to visit {c} for {n} days?",
        "Which month would be ideal for a {n} day [trip|holiday] in {c}?",
        "When should tourists plan {n} days in {c}?",
    )),
    Scheme("dream", {"d": "dream"}, (
        "What does it mean to dream about {d}?",
        "Why do I keep having nightmares of {d}?",
        "How would a psychologist interpret {d} in my sleep?",
        "Is there a hidden meaning behind dreams with {d}?",
    )),
    Scheme("learn code", {"c": "code", "j": "job"}, (
        "Is {c} useful for a {j}?",
        "Why would [somebody|someone] working as a {j} learn {c}?",
        "What can {c} do for me in my job as a {j}?",
    )),
)  # fmt: skip


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, families: int = 420) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many pairs, of both labels and every split; all when None.
        families: how many question families to make, with about 7.7 pairs each.

    Returns:
        Labelled pairs, split 60/20/20 by family, so that no question stands on both sides. The group `cluster` is
        the transitive closure of train's duplicates, unknown outside train.

    Raises:
        ValueError: if there are fewer families than splits or more than the grammar can fill, or `limit` is not
            positive.
    """
    rng = np.random.default_rng(seed)
    asker = _Asker(rng)
    pairs = [pair for family in range(families) for pair in _family(family, asker, rng)]
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.left, pair.right)))
    row = {text: i for i, text in enumerate(texts)}
    family = np.array([pair.family for pair in pairs], dtype=np.int64)
    kinds = Counter(pair.kind for pair in pairs)
    return pair_corpus(
        name=name,
        kind="labelled_pairs",
        ids=pa.array([f"q{1 + i}" for i in range(len(texts))]),
        texts=pa.array(texts),
        left=np.array([row[pair.left] for pair in pairs], dtype=np.int64),
        right=np.array([row[pair.right] for pair in pairs], dtype=np.int64),
        label=np.array([pair.kind == DUPLICATE for pair in pairs], dtype=np.float32),
        side=by_group(family, splits=FRACTIONS, seed=seed),
        positive=1,
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "family", "rows": len(pairs), "kinds": dict(sorted(kinds.items()))},
    )


class _Pair(NamedTuple):
    family: int
    left: str
    right: str
    kind: str
    """`DUPLICATE`, or how the right question differs from the left one."""


class _Asker:
    """Puts meanings into words; never asks for the same meaning in two families, nor says two things in one text."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._meanings: set[tuple[str, ...]] = set()
        self._owner: dict[str, tuple[str, ...]] = {}

    def meaning(self, *, other_than: Scheme | None = None) -> tuple[Scheme, Meaning]:
        """An intent, and a meaning of it that nobody asked for yet.

        Raises:
            ValueError: if the grammar seems to be used up.
        """
        for _ in range(200):
            scheme = INTENTS[self.rng.integers(len(INTENTS))]
            meaning = self._fresh(scheme, fill(scheme, LEXICON, self.rng))
            if meaning is not None and scheme is not other_than:
                return scheme, meaning
        raise ValueError("the grammar of toy_questions has no more questions to ask: use fewer `families`")

    def twin(self, scheme: Scheme, meaning: Meaning, change: tuple[str, str]) -> Meaning | None:
        """The meaning with one thing changed, unless somebody asked for that already."""
        kind, slot = change
        changed = dict(meaning)
        if kind == "direction":
            changed["a"], changed["b"] = meaning["b"], meaning["a"]
        else:
            changed[slot] = another(LEXICON[scheme.slots[slot]], set(meaning.values()), self.rng)
        return self._fresh(scheme, changed)

    def ask(self, scheme: Scheme, meaning: Meaning, rule: int, draws: int) -> str | None:
        """The question by one rule with given draws, unless the same text stands for something else already."""
        text = tell(scheme.rules[rule], meaning, np.random.default_rng(draws))
        key = (scheme.name, *meaning.values())
        return text if self._owner.setdefault(text.casefold(), key) == key else None

    def _fresh(self, scheme: Scheme, meaning: Meaning) -> Meaning | None:
        key = (scheme.name, *meaning.values())
        if key in self._meanings:
            return None
        self._meanings.add(key)
        return meaning


def _family(family: int, asker: _Asker, rng: np.random.Generator) -> Iterator[_Pair]:
    scheme, meaning = asker.meaning()
    rules = rng.permutation(len(scheme.rules)).tolist()
    draws = rng.integers(2**32, size=len(rules)).tolist()
    asked = [asker.ask(scheme, meaning, rule, draw) for rule, draw in zip(rules, draws, strict=True)]
    asked = asked[: 2 + int(rng.integers(2))]

    def pair(left: str | None, right: str | None, kind: str) -> Iterator[_Pair]:
        if left and right and left != right:
            yield _Pair(family, *((left, right) if rng.random() < 0.5 else (right, left)), kind)

    for earlier, later in pairwise(asked):
        yield from pair(earlier, later, DUPLICATE)
    yield from pair(asked[0], asker.ask(scheme, meaning, rules[0], int(rng.integers(2**32))), DUPLICATE)

    changes = _changes(scheme)
    for which in rng.permutation(len(changes))[:2].tolist():
        twin = asker.twin(scheme, meaning, changes[which])
        if twin is not None:
            place = int(rng.integers(2))
            same_words = asker.ask(scheme, twin, rules[place], draws[place])
            other_words = asker.ask(scheme, twin, rules[1 - place], int(rng.integers(2**32)))
            yield from pair(asked[place], same_words, changes[which][0])
            yield from pair(same_words, other_words, DUPLICATE)
            yield from pair(asked[place], other_words, f"{changes[which][0]}, other words")
    for _ in range(2):
        other, strange = asker.meaning(other_than=scheme)
        stranger = asker.ask(other, strange, int(rng.integers(len(other.rules))), int(rng.integers(2**32)))
        yield from pair(asked[int(rng.integers(2))], stranger, "stranger")


def _changes(scheme: Scheme) -> list[tuple[str, str]]:
    """(kind of change, slot) for everything that turns a question of this scheme into another one."""
    changes = []
    for slot, kind in scheme.slots.items():
        change = "number" if kind in NUMBERS else "attitude" if kind in ATTITUDES else "name"
        changes.append((change, slot))
    if len(set(scheme.slots.values())) < len(scheme.slots):
        changes.append(("direction", ""))
    return changes
