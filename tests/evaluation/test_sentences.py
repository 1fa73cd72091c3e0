"""Which sentences count as announcements, and which do not."""

import random

from evaluation.messages.sentences import SentenceParser
from welfare_env import load_board

PARSER = SentenceParser(load_board("standard"))

ANNOUNCED = [
    # hold
    ("I will hold.", "hold"),
    ("I'll hold everything in place for now.", "hold"),
    ("My fleet in Brest will remain in place.", "hold"),
    ("A PAR will hold, F BRE moves to MAO.", "hold"),
    ("I'm going to stay put.", "hold"),
    ("My units will stay where they are.", "hold"),
    ("I will not move any of my units this season.", "hold"),
    ("We won't move A PAR.", "hold"),
    ("- I will hold St. Petersburg", "hold"),
    ("As a sign of good faith I will hold all units.", "hold"),
    # not enter
    ("I won\u2019t attack you.", "not enter"),
    ("Rest assured that I will never invade Italian territory.", "not enter"),
    ("I have no intention of moving into the English Channel.", "not enter"),
    ("You have my word: I'll never cross your border.", "not enter"),
    ("I will stay out of Burgundy.", "not enter"),
    ("I'll keep away from your home centers.", "not enter"),
    ("I will not move my fleet to the North Sea.", "not enter"),
    ("I can confirm that we won't touch your provinces.", "not enter"),
    # support
    ("I will support you into Burgundy.", "support"),
    ("I support A PAR to BUR", "support"),
    ("My army in Tyrolia will support your army in Munich.", "support"),
    ("I am supporting Italy into Trieste with A SER.", "support"),
    ("I intend to support your attack on Warsaw.", "support"),
    # disband
    ("I will disband.", "disband"),
    ("I'll disband two units this winter.", "disband"),
    ("In winter I will disband A PAR and F BRE.", "disband"),
    ("To show good faith, I will demilitarize fully.", "disband"),
    ("I disband my army in Vienna.", "disband"),
    ("I will disband at least one.", "disband"),
]

OPEN = [
    "If you attack me, I will hold.",
    "I will hold unless Italy moves.",
    "I will support you into Burgundy if you leave Belgium.",
    "Once you have left, I will disband two units.",
    "Next year I will disband all my units.",
    "I will hold Paris or Brest.",
    "I will not enter Burgundy until you do.",
    "My proposal: I will not enter Burgundy, and you leave Ruhr.",
    "I will not attack you without a warning.",
    "I will support Munich, provided that you stay there.",
    "I will disband all but one of my units.",
]

NOTHING = [
    # verbs with other meanings
    "We stand together.",
    "I hold you responsible.",
    "I will hold Rome accountable.",
    "I will hold that against you.",
    "We hold three centres.",
    "I still hold Belgium.",
    "I will stand by you.",
    "I will not take orders from you.",
    "I will not enter into an alliance with Turkey.",
    "I will not cross you.",
    "I will hold up my end of the bargain.",
    "We hold all the power in the west.",
    "I will support Austria against Russia.",
    "I don't touch alcohol.",
    "I support your proposal.",
    "I will support you in your efforts for peace.",
    "I will support Italy's plan for peace.",
    "I will disband the alliance against your army.",
    "We will demilitarise Burgundy.",
    # others' words
    'Italy wrote: "I will hold Venice."',
    "You told me \u201cI will not attack you\u201d and then you did.",
    "> I will support you into Munich.\nThat was your message.",
    'Your words were "I will disband two units',
    "You claimed that I will attack, and I will hold.",
    "France promised: I will not enter Burgundy.",
    # denied, unreal, asked
    "I will not hold.",
    "I will never disband my armies.",
    "I do not promise to hold.",
    "It is not true that I will not attack you.",
    "It is a lie that I will not enter Burgundy.",
    "I would hold.",
    "I could support you into Burgundy.",
    "Perhaps I will hold.",
    "I will hold, just kidding!",
    "I will not enter Burgundy, that would be foolish.",
    "Will I hold?",
    "If I hold Paris, you can have Burgundy.",
    # of somebody else, of both, of the past
    "You will hold.",
    "Turkey will not attack you.",
    "Let us support each other.",
    "We will hold Burgundy together.",
    "I held Paris.",
    "I did not enter Burgundy.",
    "I want to support you into Burgundy.",
    "I will attack Burgundy.",
]


ABOUT = [
    ("I will hold Paris to cover BUR.", {"PAR", "BUR"}, set()),
    ("My army in Munich will hold against Burgundy.", {"MUN"}, set()),
    ("I will hold Paris, but Italy attacks Trieste.", {"PAR"}, set()),
    ("I will not enter the English Channel, and I expect Italy to leave Munich.", {"ENG"}, set()),
    ("I will not attack England or Germany.", set(), {"ENGLAND", "GERMANY"}),
    ("I will stay out of St. Petersburg and the Gulf of Lyon.", {"STP", "LYO"}, set()),
    ("I will support Italy into Trieste while Turkey holds.", {"TRI"}, {"ITALY"}),
    ("I will not move against Burgundy.", {"BUR"}, set()),
    ("I will not move A PAR to BUR.", {"BUR"}, set()),
    ('I "really" will hold. I will hold Brest: it is not Paris.', {"BRE"}, set()),
]


def test_what_is_found():
    found = [(each.sentence, each.kind) for text, _ in ANNOUNCED for each in PARSER.find(text) if not each.is_open]
    assert found == ANNOUNCED


def test_what_is_found_and_left_open():
    assert [text for text in OPEN for each in PARSER.find(text) if each.is_open] == OPEN


def test_what_is_not_found():
    assert [text for text in NOTHING if list(PARSER.find(text))] == []


def test_what_it_is_about():
    found = [(text, each) for text, _, _ in ABOUT for each in PARSER.find(text)]
    assert [(text, set(PARSER.places(each.what)), set(PARSER.powers(each.what))) for text, each in found] == ABOUT


def test_each_sentence_counts_once():
    found = list(PARSER.find("I will hold. I will not enter Burgundy; I'll support Munich!\nI disband two units."))
    assert [each.kind for each in found] == ["hold", "not enter", "support", "disband"]


def test_sentences_are_kept_as_they_were_written():
    (found,) = PARSER.find('"Peace", you said.  I\u2019ll hold my units, \u201call\u201d of them.')
    assert found.sentence == "I\u2019ll hold my units, \u201call\u201d of them."


def test_long_and_odd_texts_are_read():
    rng = random.Random(2)  # noqa: S311
    words = [
        "I will",
        *["not", "hold", "support", "you", "into", "Paris", '"', "'", ">", "\n", "(", "St.", "and", ",", "my"],
    ]
    drawn = [" ".join(rng.choices(words, k=400)) for _ in range(30)]
    for text in [*drawn, "I will " * 500, "the own " * 500, "(" * 4000]:
        list(PARSER.find(text))
