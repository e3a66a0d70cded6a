"""Generated headlines: stories of four categories, each told by several publishers in their own words.

A story is an event (a takeover, an outbreak) with its slots filled once; a publisher tells it by one of the event's
rules, under the names, with the details and in the typography it likes. Names return from story to story and between
categories (a bank is taken over, and its customers' data stolen), so that shared words alone decide neither.

The columns are those of the UCI News Aggregator dataset (https://archive.ics.uci.edu/dataset/359).
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold.data.corpus import Corpus
from twicetold.data.sources import document_corpus
from twicetold.data.sources.toy_grammar import Lexicon, Scheme, fill, tell
from twicetold.data.splits import by_group

FRACTIONS = (0.6, 0.2, 0.2)  # of stories

PUBLISHERS = (  # name, host, title case?, rule around the headline
    ("Morning Ledger", "morningledger.example", True, "{headline}"),
    ("Northern Wire", "northernwire.example", False, "[UPDATE 1-|UPDATE 2-||||]{headline}"),
    ("The Harbour Post", "harbourpost.example", True, "{headline}[: report||||]"),
    ("Capital Standard", "capitalstandard.example", False, "{headline}[ - sources||||]"),
    ("Daily Trumpet", "dailytrumpet.example", True, "[Video: |Watch: |||]{headline}[!||||]"),
    ("Pixel Review", "pixelreview.example", False, "{headline}"),
    ("City Herald", "cityherald.example", True, "{headline}[ (photos)||||||]"),
    ("Evening Argus", "eveningargus.example", False, "[Live: |Analysis: |||]{headline}"),
    ("Globe Monitor", "globemonitor.example", False, "{headline}[, says report||||]"),
    ("Weekday Times", "weekdaytimes.example", True, "{headline}"),
)
_SMALL_WORDS = frozenset(re.findall(r"\w+", "a an and as at by for from in is its of on or over the to up with"))

_CARMAKERS = (
    "Halden Motors|Halden|carmaker|Halden", "Vantra|Vantra Auto|automaker|Vantra", "Orsted Motor|Orsted|carmaker",
    "Kestrel Cars|Kestrel|Kestrel|automaker", "Sunrise Motors|Sunrise|automaker", "Corvane|Corvane|car giant",
)  # fmt: skip
_BANKS = (
    "Bank of Albion|Albion|lender", "Castle Trust|Castle Trust|lender", "First Meridian|Meridian|bank",
    "Norwood Capital|Norwood|Norwood|investment bank", "Union Savings|Union Savings|lender", "Harrow Bank|Harrow|bank",
)  # fmt: skip
_RETAILERS = (
    "Brightmart|Brightmart|supermarket chain", "Fenwick Foods|Fenwick|grocer", "Larkspur|Larkspur Stores|retailer",
    "Oak and Ivy|Oak and Ivy|retailer", "Pantry Plus|Pantry Plus|grocer", "Summit Outdoors|Summit|chain",
)  # fmt: skip
_AIRLINES = ("Aerolis|Aerolis|airline", "Blue Heron Air|Blue Heron|carrier", "Pan Nordic|Pan Nordic|airline")
_WEB = (
    "Chirper|Chirper|social network", "Findly|Findly|search giant", "Streamhaus|Streamhaus|streaming service",
    "Palaver|Palaver|messaging app", "Cloudnine|Cloudnine|cloud provider", "Snaplet|Snaplet|photo app",
    "Mapwise|Mapwise|search giant", "Friendzone|Friendzone|social network",
)  # fmt: skip
_GADGETS = (
    "Quill|Quill|phone maker", "Tangent|Tangent Electronics|electronics giant", "Novacom|Novacom|phone maker",
    "Pinnacle|Pinnacle Devices|gadget maker", "Lumen|Lumen Labs|chipmaker", "Octavo|Octavo|chipmaker",
)  # fmt: skip
_DRUGMAKERS = (
    "Salvia Pharma|Salvia|drugmaker", "Genovex|Genovex|biotech", "Merriton|Merriton|drugmaker",
    "Astoria Life|Astoria|pharma group", "Helix Bio|Helix|biotech",
)  # fmt: skip
_SINGERS = (
    "Ruby Vale|Ruby|singer|pop star", "Jonah Reyes|Reyes|rapper", "The Paper Kites Club|Paper Kites Club|band",
    "Mila Storm|Mila Storm|pop star|singer", "Dex Carter|Carter|rapper", "Silver Arcade|Silver Arcade|rockers",
)  # fmt: skip
_ACTORS = (
    "Clara Benton|Benton|actress", "Theo Marsh|Marsh|actor", "Idris Calloway|Calloway|Hollywood star",
    "Naomi Frost|Frost|actress|Naomi Frost", "Leo Hartman|Hartman|actor", "Sienna Cole|Sienna|Hollywood star",
    "Oscar Delmonte|Delmonte|actor", "Vera Lindqvist|Lindqvist|actress",
)  # fmt: skip

LEXICON: Lexicon = {
    "business": (
        "investors cheer|shareholders cheer", "investors worry|shareholders worry", "shares rise|stock rises",
        "shares slip|shares dip", "markets shrug|investors shrug", "Wall Street watches|analysts watch",
        "market stays calm|markets stay calm",
    ),
    "technology": (
        "users complain|users grumble", "users shrug|developers shrug", "experts warn users|security experts warn",
        "app users wait|smartphone users wait", "app developers cheer|developers cheer",
        "the internet laughs|users laugh", "online debate grows|users argue online",
    ),
    "entertainment": (
        "fans cheer|fans thrilled", "fans in tears|fans weep", "critics disagree|critics split",
        "Hollywood reacts|Hollywood stunned", "fans shocked|Hollywood shocked", "stars react|celebrities react",
        "critics rave|fans and critics rave",
    ),
    "health": (
        "doctors worry|doctors warn", "patients wait|patients and doctors wait", "health officials act|officials act",
        "doctors hopeful|patients hopeful", "health risk debated|doctors debate risk",
        "hospitals prepare|hospitals brace", "scientists warn|health experts warn",
    ),
    "carmaker": _CARMAKERS,
    "airline": _AIRLINES,
    "bank": _BANKS,
    "retailer": _RETAILERS,
    "web": _WEB,
    "gadgetmaker": _GADGETS,
    "drugmaker": _DRUGMAKERS,
    "singer": _SINGERS,
    "actor": _ACTORS,
    "star": _SINGERS + _ACTORS,
    "company": _CARMAKERS + _BANKS + _RETAILERS + _AIRLINES + _WEB + _GADGETS + _DRUGMAKERS,
    "dataholder": _BANKS + _RETAILERS + _WEB + _AIRLINES,
    "person": (
        "Margaret Shaw|Shaw", "Daniel Okafor|Okafor", "Priya Raman|Raman", "Tom Hartman|Hartman", "Ellen Cole|Cole",
        "Victor Marsh|Marsh", "Sofia Benton|Benton", "Henrik Lund|Lund", "Grace Carter|Carter", "Paul Reyes|Reyes",
    ),
    "city": (
        "Chicago", "Leeds", "Toronto", "Madrid", "Seattle", "Lagos", "Mumbai", "Sydney", "Boston", "Dublin", "Denver",
        "Oslo", "Vienna", "Austin", "Manila", "Lyon",
    ),
    "region": (
        "Texas", "Ontario", "Scotland", "Kenya", "California", "Brazil", "Florida", "Vietnam", "Ohio", "Spain",
        "Queensland", "Poland",
    ),
    "percent": tuple(f"{n}%|{n} percent|{n} pct" for n in range(3, 40)),
    "billions": tuple(f"${n / 10:.1f} billion|${n / 10:.1f}bn" for n in range(11, 99, 3)),
    "millions": tuple(f"${n} million|${n}m" for n in range(12, 480, 9)),
    "thousands": tuple(f"{n},000|{n},000|thousands of" for n in range(2, 60)),
    "people": tuple(f"{n} million|{n}m|millions of" for n in range(2, 90, 3)),
    "cases": tuple(f"{n}|{n}|dozens of" for n in range(14, 97, 3)),
    "quarter": ("first quarter|Q1", "second quarter|Q2", "third quarter|Q3", "holiday quarter|Q4"),
    "part": (
        "faulty airbags|airbag defect", "ignition switch flaw|faulty switches", "brake problem|failing brakes",
        "fire risk|engine fires", "steering fault|steering problem", "seat belt defect|faulty belts",
    ),
    "rulebook": (
        "rate rigging|benchmark manipulation", "money laundering|dirty money", "mis-selling|misleading customers",
        "sanctions breaches|breaking sanctions", "tax evasion|helping tax cheats",
    ),
    "gadget": (
        "smartwatch|watch", "tablet|slate", "smartphone|handset|phone", "headset|virtual reality goggles",
        "laptop|notebook", "games console|console", "smart speaker|speaker", "fitness band|wearable",
    ),
    "feature": (
        "video calls|face-to-face calling", "disappearing messages|self-destructing chats", "offline maps|maps",
        "voice search|spoken queries", "group payments|money transfers", "live captions|subtitles",
        "parental controls|child safety tools", "dark mode|night theme",
    ),
    "loot": (
        "credit card numbers|card details", "passwords|login details", "email addresses|contact details",
        "private photos|pictures", "medical records|health data",
    ),
    "regulator": ("EU|Brussels|European regulators", "FTC|US regulators|Washington", "Seoul|Korean watchdog"),
    "startup": (
        "Bramble|Bramble|food delivery startup", "Hopscotch|Hopscotch|travel startup", "Ferry|Ferry|taxi app",
        "Tinker|Tinker|robotics startup", "Ledgerly|Ledgerly|payments startup", "Sprout|Sprout|farming startup",
    ),
    "film": (
        "The Glass Harbor|Glass Harbor|thriller", "Night Parade|Night Parade|musical",
        "Iron Orchard|sequel|Iron Orchard", "Captain Ember|Captain Ember|superhero film",
        "The Last Cartographer|Last Cartographer|drama", "Paper Moons|Paper Moons|comedy",
        "Robots of Summer|animated hit|Robots of Summer", "Red Tide|Red Tide|thriller",
        "Kingdom of Salt|Kingdom of Salt|epic", "Monster Weekend|Monster Weekend|comedy",
    ),
    "series": (
        "Harbor Lights|Harbor Lights|drama", "The Precinct|Precinct|cop show",
        "Throne of Ash|Throne of Ash|fantasy saga", "Roommates|Roommates|sitcom",
        "Doctor Quick|Doctor Quick|medical drama", "Baker Street High|teen drama",
    ),
    "prize": (
        "Golden Lens|best actor prize", "Critics Circle award|critics prize", "Palm|festival prize",
        "Screen Guild award|guild honor",
    ),
    "album": ("Heartlines", "Neon Winter", "Afterglow", "Paper Crowns", "Midnight Arcade", "Salt and Honey"),
    "disease": (
        "measles|measles|virus", "dengue|dengue fever|mosquito virus", "diabetes|type 2 diabetes|diabetes",
        "heart disease|heart attacks|cardiac problems", "breast cancer|tumors|cancer",
        "asthma|asthma|breathing disorder", "Alzheimer's|dementia|memory loss", "flu|influenza|flu",
        "malaria|malaria|parasite", "stroke|strokes|stroke", "depression|depression|low mood",
        "hepatitis C|hepatitis|liver disease",
    ),
    "infection": (
        "measles|measles|virus", "dengue|dengue fever|mosquito virus", "flu|influenza|flu",
        "whooping cough|pertussis", "meningitis|meningitis|brain infection", "cholera|cholera|water-borne disease",
        "Ebola|Ebola|deadly virus", "mumps|mumps|virus", "chikungunya|mosquito virus|chikungunya",
    ),
    "drug": (
        "Velotrex|pill|Velotrex", "Cardiomab|injection|Cardiomab", "Nuralin|Nuralin|drug", "Oncovia|Oncovia|therapy",
        "Respira|inhaler|Respira", "Glucanor|Glucanor|treatment", "Hepaclear|Hepaclear|pill",
    ),
    "food": (
        "coffee|daily cup|coffee", "red meat|steak|meat", "nuts|almonds|nuts", "sugary drinks|soda",
        "olive oil|olive oil", "chocolate|dark chocolate|cocoa", "fish|oily fish", "salt|sodium", "red wine|wine",
        "eggs|eggs",
    ),
    "habit": (
        "sleeping late|lack of sleep", "sitting all day|desk work", "night shifts|working nights",
        "jogging|short runs", "yoga|stretching", "e-cigarettes|vaping", "screen time|smartphone use",
    ),
    "germ": ("salmonella", "listeria", "E. coli|bacteria", "glass fragments|glass", "undeclared peanuts|allergens"),
    "grocery": (
        "peanut butter", "frozen spinach|spinach", "ground beef|beef", "hummus|dips", "ice cream|ice cream bars",
        "sprouts|bean sprouts", "cantaloupes|melons",
    ),
}  # fmt: skip


def _events(category: str, *schemes: Scheme) -> tuple[tuple[str, Scheme], ...]:
    """The events of a category, each with an aside of that category's desk (`investors worry`) for some tellings."""
    aside = "[ as {aside}|, {aside}|: {aside}||]"
    return tuple(
        (category, Scheme(s.name, {**s.slots, "aside": category}, tuple(rule + aside for rule in s.rules)))
        for s in schemes
    )


EVENTS: tuple[tuple[str, Scheme], ...] = (
    *_events(
        "business",
        Scheme("takeover", {"a": "company", "b": "company", "sum": "billions"}, (
            "{a} [to buy|to acquire|agrees to buy|snaps up] {b}[ for {sum}| in {sum} deal||]",
            "{b} [to be taken over|to be bought|swallowed] by {a}[ for {sum}||]",
            "[Merger|Tie-up|Takeover] of {a} and {b} [wins approval|faces scrutiny|announced]",
            "{sum} [offer|bid] from {a} [accepted|backed] by {b} [board|shareholders|investors]",
            "[Analysts|Investors] [cheer|question] [purchase|takeover] of {b}",
        )),
        Scheme("profit up", {"a": "company", "p": "percent", "q": "quarter"}, (
            "{a} [profit|net income|earnings] [jumps|rises|climbs|surges] {p}[ in {q}| on strong demand|]",
            "Strong {q} lifts {a} [earnings|results|profit]",
            "{a} [beats|tops] [forecasts|estimates] as [sales grow|revenue climbs] {p}",
            "[Shares of {a}|{a} shares|{a} stock] [rally|soar|jump][ after results| after {q} report|]",
        )),
        Scheme("profit down", {"a": "company", "p": "percent", "q": "quarter"}, (
            "{a} [profit|net income|earnings] [falls|drops|slides|plunges] {p}[ in {q}| on weak sales|]",
            "Weak {q} [hurts|drags down] {a} [earnings|results]",
            "{a} [misses|falls short of] [forecasts|estimates] as [costs|expenses] [mount|rise] {p}",
            "[Shares of {a}|{a} shares|{a} stock] [tumble|sink|dive][ on profit warning| after {q} loss|]",
        )),
        Scheme("layoffs", {"a": "company", "n": "thousands", "c": "city"}, (
            "{a} to [cut|slash|shed|axe] {n} jobs[ in {c}| in restructuring|]",
            "{n} [workers|employees|staff] [to go|face the axe] at {a}[ in {c}||]",
            "[Layoffs|Job cuts|Redundancies] [hit|loom in] {c} as {a} [restructures|closes offices|retreats]",
            "[Unions|Workers] [protest|threaten strike] over {a} [closure|cuts|plans]",
        )),
        Scheme("new chief", {"a": "company", "who": "person"}, (
            "{a} [names|appoints|picks] {who} as [chief executive|CEO|new boss]",
            "{who} to [lead|run|take charge of] {a}",
            "[New boss|Change at the top|Shake-up] for {a} as [chief executive|founder|chairman] [steps down|quits]",
            "[Can {who} turn around {a}?|Who is {who}, the next head of {a}?]",
        )),
        Scheme("recall", {"a": "carmaker", "n": "thousands", "why": "part"}, (
            "{a} [recalls|calls back] {n} [cars|vehicles|SUVs][ over {why}| due to {why}|]",
            "{why} [behind|led to] recall of {n} {a} [cars|models|trucks]",
            "[Drivers|Owners] warned [about|of] {why} in {a} [models|cars]",
            "{a} [boss|chief] apologizes for {why}[ before Congress||]",
        )),
        Scheme("fine", {"a": "bank", "sum": "millions", "why": "rulebook"}, (
            "{a} [fined|hit with fine of|to pay] {sum} [over|for] {why}",
            "[Regulators|Prosecutors] [punish|penalize|charge] {a} [over|in] {why}[ case||]",
            "{a} [settles|ends] {why} [case|probe|lawsuit][ for {sum}||]",
            "{sum} [penalty|settlement] for {a}",
        )),
        Scheme("interest rates", {"r": "region", "p": "percent", "q": "quarter"}, (
            "{r} central bank [holds|keeps] [rates|interest rates] [steady|at {p}]",
            "[Borrowing costs|Rates|Interest rates] [unchanged|on hold] in {r}[ as inflation hits {p}||]",
            "{r} [inflation|price growth] at {p}, [economists|analysts] expect rate [rise|hike]",
            "[Economy|GDP] of {r} [grows|expands] in {q}[, beating forecasts||]",
        )),
    ),
    *_events(
        "technology",
        Scheme("launch", {"a": "gadgetmaker", "g": "gadget", "c": "city"}, (
            "{a} [unveils|launches|shows off|introduces] [new|thinner|cheaper|its first] {g}[ in {c}| at {c} event|]",
            "[Hands on with|Review:|First look:] [the new {a} {g}|{a}'s {g}]",
            "{g} from {a} [goes on sale|hits shelves|arrives][ next month| this week|]",
            "[Should you buy|Is it time to upgrade to|What we know about] the [latest|new] {a} {g}[?||]",
        )),
        Scheme("breach", {"a": "dataholder", "n": "people", "what": "loot"}, (
            "[Hackers|Cyber thieves] steal {n} {what} from {a}",
            "{a} [hacked|breached]: {n} [users|customers|accounts] [affected|at risk]",
            "{what} of {n} {a} [customers|users] [leaked|exposed|stolen][ online| in attack|]",
            "{a} [admits|confirms|investigates] [data breach|security flaw|cyber attack]",
            "How to [protect yourself|change your password] after [the {a} hack|{a} breach]",
        )),
        Scheme("outage", {"a": "web", "r": "region"}, (
            "{a} [goes down|crashes|suffers outage][ in {r}| for hours|]",
            "[Users|Millions] [in {r} |]unable to [log in to|reach|use] {a}",
            "{a} [back online|restored|working again] after [outage|glitch|server failure]",
            "[Outage|Glitch|Server failure] [hits|knocks out] {a}[ users in {r}||]",
        )),
        Scheme("antitrust", {"a": "web", "who": "regulator", "sum": "billions"}, (
            "{who} to [open|launch] [antitrust|competition] [probe|inquiry] into {a}",
            "{a} [faces|risks] {sum} [fine|penalty] [from|in] {who}[ case||]",
            "{a} [abused|exploited] [dominance|market power], [says {who}|{who} finds]",
            "{a} [offers concessions|fights back|to appeal] in {who} [dispute|case]",
        )),
        Scheme("funding", {"a": "startup", "sum": "millions", "b": "bank"}, (
            "{a} [raises|secures|lands] {sum}[ from {b}| in funding|]",
            "{b} [backs|invests in|leads round for] {a}[ with {sum}||]",
            "{a} [valued at|worth] [more than|almost] {sum} after [funding round|investment]",
            "[Venture money pours|Investors flock] into {a}",
        )),
        Scheme("patents", {"a": "gadgetmaker", "b": "gadgetmaker", "g": "gadget"}, (
            "{a} [sues|takes to court] {b} over {g} [patents|design]",
            "[Jury|Judge] [sides with|rules for] {a} in [patent fight|patent trial] with {b}",
            "{b} [copied|infringed] {a} {g}[, jury finds||]",
            "[Court|Judge] [refuses to ban|blocks sale of] {b} {g}",
        )),
        Scheme("update", {"a": "web", "f": "feature"}, (
            "{a} [adds|rolls out|tests|introduces] {f}[ for all users| on phones|]",
            "{f} [now on|coming to|finally in] {a} [app|update]",
            "[How to|Here is how to] [use|turn on] {f} in {a}",
            "[New|Latest] {a} update [brings|includes|offers] {f}[ and bug fixes||]",
        )),
        Scheme("robot cars", {"a": "carmaker", "c": "city", "w": "web"}, (
            "{a} [tests|trials] [self-driving|driverless|autonomous] [cars|vehicles] in {c}",
            "[Robot cars|Driverless vehicles] from {a} [take to|hit] {c} [streets|roads]",
            "{w} and {a} [team up|join forces] on [self-driving|autonomous] [technology|software]",
            "{c} [allows|licenses|approves] [driverless|robot] {a} [cars|taxis]",
        )),
    ),
    *_events(
        "entertainment",
        Scheme("casting", {"a": "actor", "b": "actor", "f": "film"}, (
            "{a} [to star in|joins|cast in|signs on for] {f}[ with {b}| alongside {b}|]",
            "{f} [adds|casts|finds its lead in] {a}[ and {b}||]",
            "{b} [welcomes|to share screen with] {a} in {f}",
            "[Trailer|First trailer|Teaser]: {a} [shines|returns] in {f}",
        )),
        Scheme("box office", {"f": "film", "g": "film", "sum": "millions"}, (
            "[Box office|Weekend box office]: {f} [wins|tops|opens to] {sum}[, beating {g}||]",
            "{f} [beats|edges out|crushes] {g} [at box office|in ticket sales|on opening weekend]",
            "{sum} [debut|opening] for {f}",
            "{g} [flops|stumbles|disappoints] as {f} [soars|draws crowds]",
        )),
        Scheme("award", {"a": "actor", "f": "film", "w": "prize"}, (
            "{a} [wins|takes|collects] {w}[ for {f}||]",
            "{w} [goes to|awarded to] {a}",
            "[Tears|Cheers|Surprise] as {a} [accepts|lifts] {w}",
            "{f} [dominates|sweeps] [ceremony|awards night], {a} [honored|celebrates]",
        )),
        Scheme("wedding", {"a": "star", "b": "star", "c": "city"}, (
            "{a} and {b} [marry|wed|tie the knot][ in {c}| in secret ceremony|]",
            "[Wedding bells|Surprise wedding|Secret ceremony] for {a} and {b}",
            "[Inside|See] the {c} wedding of {a}",
            "{b} [is married|says yes] to {a}[ in front of family||]",
        )),
        Scheme("breakup", {"a": "star", "b": "star"}, (
            "{a} and {b} [split|separate|call it quits|divorce][ after two years||]",
            "It's over: {a} [leaves|dumps] {b}",
            "{b} [moves out|speaks out|files for divorce][ after split from {a}||]",
            "[Friends|Insiders] [reveal|explain] why {a} and {b} [parted|broke up]",
        )),
        Scheme("tour", {"a": "singer", "c": "city", "n": "thousands"}, (
            "{a} [announces|adds dates to] [world tour|summer tour|arena tour][, starting in {c}||]",
            "{a} [plays|thrills|wows] {n} fans in {c}",
            "[Tickets|Seats] for {a} [tour|concert] [sell out|gone] in minutes",
            "{a} [cancels|postpones] {c} [show|concert|gig][ due to illness||]",
        )),
        Scheme("album", {"a": "singer", "t": "album", "n": "people"}, (
            "{a} [drops|releases|surprises fans with] [new album|record] {t}",
            "[Review|Listen]: {t} by {a}[ is a triumph| disappoints|]",
            "{t} [tops charts|debuts at number one|sells {n} copies]",
            "{a} [streams|shares] [new single|first song] from {t}",
        )),
        Scheme("series", {"s": "series", "a": "actor", "w": "web"}, (
            "{s} [renewed|returns|picked up] for [another|second|final] season[ on {w}||]",
            "{w} [orders|wants] more {s}",
            "{a} [leaves|exits|quits] {s}[ after finale||]",
            "[Recap|Finale recap]: {s} [shocks fans|says goodbye|kills off favorite]",
        )),
    ),
    *_events(
        "health",
        Scheme("outbreak", {"d": "infection", "r": "region", "n": "cases"}, (
            "{d} [outbreak|epidemic] [spreads|grows] in {r}[, {n} [sick|infected]||]",
            "{n} [people|patients|children] [ill|infected|in hospital] with {d} in {r}",
            "{r} [reports|confirms|records] {n} {d} [cases|infections]",
            "[Officials|Doctors] [urge|plead for] [vaccination|caution|calm] as {d} spreads",
        )),
        Scheme("approval", {"a": "drugmaker", "x": "drug", "d": "disease"}, (
            "[FDA|Regulator] [approves|clears|backs] {a} {x}[ for {d}||]",
            "{x} from {a} [wins approval|gets green light|cleared][ to treat {d}||]",
            "[New|First] {d} [drug|treatment] [approved|gets green light]",
            "{d} [patients|sufferers] [welcome|get] {x}",
        )),
        Scheme("trial fails", {"a": "drugmaker", "x": "drug", "d": "disease"}, (
            "{a} {x} [fails|falls short] in [late-stage|large] {d} [trial|study]",
            "[Setback|Blow] for {a} as {d} [drug|trial] [fails|disappoints]",
            "{a} shares [tumble|dive] after {x} [failure|setback]",
            "[No benefit|Little effect] from {x} in {d} [patients|study]",
        )),
        Scheme("diet study", {"e": "food", "d": "disease", "p": "percent"}, (
            "{e} [may cut|can lower|could reduce] risk of {d}[ by {p}||][, study finds|, researchers say|]",
            "[Study|Research] links {e} to [lower|fewer] {d}[ risk||]",
            "[Can|Does] {e} [ward off|protect against|prevent] {d}?",
            "{p} [less|lower chance of] {d} for those who [love|enjoy] {e}",
        )),
        Scheme("habit study", {"h": "habit", "d": "disease", "p": "percent"}, (
            "{h} [may raise|could increase] {d} risk[ by {p}||][, study warns|, scientists say|]",
            "[Scientists|Doctors|Researchers] [warn of|find] link between {h} and {d}",
            "[Is {h} bad for you?|How {h} may lead to {d}]",
            "{d} [tied to|blamed on] {h}",
        )),
        Scheme("vaccine", {"d": "infection", "r": "region", "p": "percent"}, (
            "[Vaccination|Immunization] against {d} [falls|drops] {p} in {r}",
            "{r} [parents|schools] [refuse|skip] {d} [shots|vaccine|jabs]",
            "[Doctors|Officials] alarmed by {d} [vaccine|immunization] [gap|rates][ in {r}||]",
            "{d} [shot|jab|vaccine] to be [free|required] in {r}[ schools||]",
        )),
        Scheme("food recall", {"a": "retailer", "e": "grocery", "why": "germ"}, (
            "{a} [recalls|pulls] {e} [over|on] {why} [fears|scare]",
            "{why} found in {e}[ sold by {a}| at {a}|]",
            "[Shoppers|Customers] told to [throw out|return] {e}[ from {a}||]",
            "[Dozens|Children|Several people] [sick|ill] after eating {a} {e}",
        )),
        Scheme("surgery", {"c": "city", "d": "disease", "who": "person"}, (
            "{c} [surgeons|doctors] [try|perform|complete] [first|pioneering] [operation|surgery] for {d}",
            "[Pioneering|World-first] [operation|surgery|transplant] in {c} [gives hope|raises hopes] to {d} patients",
            "{who} [recovering|walks again|goes home] after [surgery|operation|transplant][ in {c}||]",
            "[How {c} hospital|How surgeons] [saved|helped] {who}",
        )),
    ),
)  # fmt: skip


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, stories: int = 480) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many headlines, of every category and split; all when None.
        stories: how many stories to tell, with about 5 headlines each.

    Returns:
        Documents in order of publication, with the groups `category` and `story`, split 60/20/20 by story.

    Raises:
        ValueError: if there are fewer stories than splits, or `limit` is not positive.
    """
    headlines = sorted(_headlines(stories, np.random.default_rng(seed)))
    story = np.array([h.story for h in headlines], dtype=np.int64)
    return document_corpus(
        name=name,
        ids=pa.array([str(1 + row) for row in range(len(headlines))]),
        texts=pa.array([h.text for h in headlines]),
        side=by_group(story, splits=FRACTIONS, seed=seed),
        groups={
            "category": pa.array([h.category for h in headlines]),
            "story": pa.array([f"story {h.story:05}" for h in headlines]),
        },
        fields={
            "publisher": pa.array([PUBLISHERS[h.publisher][0] for h in headlines]),
            "hostname": pa.array([PUBLISHERS[h.publisher][1] for h in headlines]),
            "url_slug": pa.array([_slug(h.text) for h in headlines]),
        },
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "story", "rows": len(headlines)},
    )


class _Headline(NamedTuple):
    hour: float
    """Since the first story began; the order of publication."""
    story: int
    category: str
    publisher: int
    text: str


def _headlines(stories: int, rng: np.random.Generator) -> list[_Headline]:
    told: list[_Headline] = []
    seen: set[str] = set()
    for story in range(stories):
        category, event = EVENTS[rng.integers(len(EVENTS))]
        meaning = fill(event, LEXICON, rng)
        count = 2 + int(rng.poisson(3.0))
        for publisher in rng.permutation(len(PUBLISHERS))[:count].tolist():
            rule = event.rules[rng.integers(len(event.rules))]
            text = _print(tell(rule, meaning, rng), publisher, rng)
            hour = 1.5 * story + float(rng.exponential(24.0))
            if text.casefold() not in seen:  # a headline belongs to one story only, or it would sit in two splits
                seen.add(text.casefold())
                told.append(_Headline(hour, story, category, publisher, text))
    return told


def _print(text: str, publisher: int, rng: np.random.Generator) -> str:
    """Set a headline in a publisher's typography."""
    _, _, title_case, frame = PUBLISHERS[publisher]
    if title_case:
        words = text.split(" ")
        text = " ".join(w if i and w in _SMALL_WORDS else w[:1].upper() + w[1:] for i, w in enumerate(words))
    return tell(frame, {"headline": text}, rng)


def _slug(text: str) -> str:
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SMALL_WORDS]
    return " ".join(words[:8])
