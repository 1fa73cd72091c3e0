"""Which sentences count as announcements, and which do not."""

import random

import pytest

from evaluation.messages.sentences import SentenceParser
from welfare_env import load_board

PARSER = SentenceParser(load_board("standard"))

ANNOUNCED = [
    # hold
    ("I will hold.", "hold"),
    ("I hold.", "hold"),
    ("I will hold this turn and build trust.", "hold"),
    ("We will hold all units.", "hold"),
    ("I'll hold everything in place for now.", "hold"),
    ("Dear Germany, I will hold in Paris and Marseilles.", "hold"),
    ("As agreed, my army in Munich will hold.", "hold"),
    ("My fleet in Brest will remain in place.", "hold"),
    ("A PAR will hold, F BRE moves to MAO.", "hold"),
    ("I am holding Paris this turn.", "hold"),
    ("I'm going to stay put.", "hold"),
    ("My units will stay where they are.", "hold"),
    ("I will not move any of my units this season.", "hold"),
    ("We won't move A PAR.", "hold"),
    ("I promise you that I will hold my position.", "hold"),
    ("- I will hold St. Petersburg", "hold"),
    ("As a sign of good faith I will hold all units.", "hold"),
    ("I'm planning to hold my units.", "hold"),
    # not enter
    ("I will not enter Burgundy.", "not enter"),
    ("I won\u2019t attack you.", "not enter"),
    ("I promise not to take any of your centres.", "not enter"),
    ("Rest assured that I will never invade Italian territory.", "not enter"),
    ("I have no intention of moving into the English Channel.", "not enter"),
    ("We shall not send word, but we shall not march against Turkey.", "not enter"),
    ("You have my word: I'll never cross your border.", "not enter"),
    ("I will stay out of Burgundy.", "not enter"),
    ("I'll keep away from your home centers.", "not enter"),
    ("I am not attacking Munich.", "not enter"),
    ("I will not move my fleet to the North Sea.", "not enter"),
    ("I do not intend to go into Tyrolia or Piedmont.", "not enter"),
    ("I can confirm that we won't touch your provinces.", "not enter"),
    # support
    ("I will support you into Burgundy.", "support"),
    ("I'll support Munich.", "support"),
    ("I support A PAR to BUR", "support"),
    ("My army in Tyrolia will support your army in Munich.", "support"),
    ("We will gladly support the French move to Belgium.", "support"),
    ("I am supporting Italy into Trieste with A SER.", "support"),
    ("Yes, I will support you this turn.", "support"),
    ("I intend to support your attack on Warsaw.", "support"),
    # disband
    ("I will disband.", "disband"),
    ("I'll disband two units this winter.", "disband"),
    ("We will disband all our armies.", "disband"),
    ("In winter I will disband A PAR and F BRE.", "disband"),
    ("I promise to disarm completely.", "disband"),
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
    "I hold that you are a liar.",
    "We stand together.",
    "I hold you responsible.",
    "I hold Germany to its word.",
    "I will hold Rome accountable.",
    "I will hold talks with Turkey.",
    "I will hold on to my principles.",
    "I will hold that against you.",
    "We hold three centres.",
    "I hold Paris, Brest and Marseilles, so my income is safe.",
    "I still hold Belgium.",
    "I remain your loyal friend.",
    "I will stay in touch.",
    "I will stand by you.",
    "I stand by my position on that.",
    "I will not take orders from you.",
    "I won't take your advice lightly.",
    "I will not go into details.",
    "I won't step back.",
    "I will not enter into an alliance with Turkey.",
    "I will not cross you.",
    "I will stay out of Italy's affairs.",
    "I will hold up my end of the bargain.",
    "I won't move on this issue.",
    "We hold all the power in the west.",
    "I will support Austria against Russia.",
    "I will never move against my conscience.",
    "I don't touch alcohol.",
    "I support your proposal.",
    "I fully support the alliance.",
    "I will support you in your efforts for peace.",
    "I support you, Italy.",
    "I will support Italy's plan for peace.",
    "I will disband the alliance against your army.",
    "I will disarm you with charm.",
    "We will demilitarise Burgundy.",
    # others' words
    'Italy wrote: "I will hold Venice."',
    "You told me \u201cI will not attack you\u201d and then you did.",
    "He said 'I won't enter Burgundy' twice.",
    "> I will support you into Munich.\nThat was your message.",
    'Your words were "I will disband two units',
    "Italy says: I will hold.",
    "You claimed that I will attack, and I will hold.",
    "They think I will hold.",
    "I will hold, says Turkey.",
    "France promised: I will not enter Burgundy.",
    "Russia's message reads: I will support Turkey into Rumania.",
    "My letter to Italy: I will support you into Trieste.",
    # denied, unreal, asked
    "I will not hold.",
    "I won't support you into Burgundy.",
    "I will never disband my armies.",
    "I do not promise to hold.",
    "It is not true that I will not attack you.",
    "Nobody believes I will hold.",
    "It is a lie that I will not enter Burgundy.",
    "I would hold.",
    "I could support you into Burgundy.",
    "I might disband two units.",
    "Perhaps I will hold.",
    "Maybe, I will hold.",
    "Suppose I will hold, what then.",
    "Option 1: I will hold.",
    "I will hold, just kidding!",
    "I will not enter Burgundy, that would be foolish.",
    "Will I hold?",
    "I will hold?",
    "If I hold Paris, you can have Burgundy.",
    "When I support you into Munich, Russia will be angry.",
    # of somebody else, of both, of the past
    "You will hold.",
    "Turkey will not attack you.",
    "Let us support each other.",
    "We will hold Burgundy together.",
    "We will support your army in Munich together.",
    "I held Paris.",
    "I supported you into Munich.",
    "I did not enter Burgundy.",
    "I want to support you into Burgundy.",
    "I will attack Burgundy.",
]


@pytest.mark.parametrize(("text", "kind"), ANNOUNCED)
def test_what_is_found(text, kind):
    (found,) = PARSER.find(text)
    assert (found.kind, found.sentence, found.is_open) == (kind, text, False)


@pytest.mark.parametrize("text", OPEN)
def test_what_is_found_and_left_open(text):
    (found,) = PARSER.find(text)
    assert found.is_open


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_not_found(text):
    assert list(PARSER.find(text)) == []


@pytest.mark.parametrize(
    ("text", "places", "powers"),
    [
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
    ],
)
def test_what_it_is_about(text, places, powers):
    (found,) = PARSER.find(text)
    assert (PARSER.places(found.what), PARSER.powers(found.what)) == (places, powers)


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
        "not",
        "hold",
        "support",
        "you",
        "into",
        "Paris",
        '"',
        "'",
        ">",
        "\n",
        "(",
        "St.",
        "and",
        ",",
        "my",
    ]
    for text in [" ".join(rng.choices(words, k=400)) for _ in range(30)] + [
        "I will " * 500,
        "the own " * 500,
        "(" * 4000,
    ]:
        list(PARSER.find(text))
