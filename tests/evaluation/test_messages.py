"""Message analysis: which sentences are announcements, what was said and ordered, and who talks to whom."""

import json
import math
import random

import pytest

import agents
import welfare_env
from evaluation.messages.analysis import analyze_messages
from evaluation.messages.sentences import SentenceParser
from evaluation.tables.message_tables import ConditionMessages, talk_tables
from tests.playing import play
from welfare_env import Game, Rules


def said(*messages, orders=None, winter=None, phases=1):
    """The record of a game in whose first phase (or Winter) messages are sent and orders given."""
    game = welfare_env.Game(rules=welfare_env.Rules(years=2))
    while winter and game.phase != "W1901A":
        game.advance()
    for sender, recipient, text in messages:
        game.send(sender, recipient, text)
    for power, given in (winter or orders or {}).items():
        game.submit(power, given)
    for _ in range(phases):
        game.advance()
    return json.loads(json.dumps(game.record()))


def verdicts(record):
    return [(promise.kind, promise.is_kept) for promise in analyze_messages(record).promises]


PARIS_MOVES = {"FRANCE": ["A PAR - BUR", "A MAR H", "F BRE - MAO"]}
FRANCE_HELPS = {"FRANCE": ["A MAR S A PAR - BUR", "A PAR - BUR", "F BRE H"]}
ITALY_HELPS = {"ITALY": ["A VEN S F TRI"]}


def test_promises_of_a_movement_phase():
    for text, orders, verdict in [
        ("I will hold all my units this phase.", {}, ("hold", True)),
        ("I will hold all my units this phase.", PARIS_MOVES, ("hold", False)),
        ("Marseilles is safe: I hold Marseilles.", PARIS_MOVES, ("hold", True)),
        ("We won\u2019t move into BUR, ever.", PARIS_MOVES, ("not enter", False)),
        ("I won't enter the English Channel", PARIS_MOVES, ("not enter", True)),
        ("I promise not to invade Germany.", PARIS_MOVES, ("not enter", True)),
        ("I will support Paris into Burgundy.", FRANCE_HELPS, ("support", True)),
        ("I will hold unless Italy moves.", PARIS_MOVES, ("hold", None)),
        ("Next year I will hold.", PARIS_MOVES, ("hold", None)),
        ("I will not enter.", PARIS_MOVES, ("not enter", None)),
        ("I will not enter Burgundy in 1901.", PARIS_MOVES, ("not enter", False)),
        ("I will hold this spring.", PARIS_MOVES, ("hold", False)),
        ("I will hold all units in S1901M.", PARIS_MOVES, ("hold", False)),
        ("I will hold all units in F1901M.", PARIS_MOVES, ("hold", None)),
        ("I will hold Burgundy.", PARIS_MOVES, ("hold", None)),
        ("I will hold Paris to cover Burgundy.", PARIS_MOVES, ("hold", False)),
        ("I will not move against Burgundy, and Paris stays.", PARIS_MOVES, ("not enter", False)),
        ('Italy wrote "I will hold"', PARIS_MOVES, None),
    ]:
        assert verdicts(said(("FRANCE", "GERMANY", text), orders=orders)) == ([verdict] if verdict else [])


def test_no_promise():
    texts = [" . ", "Will I hold?", "Peace!", "You will hold.", "I like holding hands.", "Hold Burgundy!"]
    texts += ["I will attack Burgundy."]
    assert verdicts(said(*(("FRANCE", "GERMANY", text) for text in texts), orders=PARIS_MOVES)) == []


def test_you_is_the_recipient_of_a_private_message_alone():
    text = "I will not attack you."
    into_trieste = {"ITALY": ["A VEN - TRI"]}
    assert verdicts(said(("ITALY", "AUSTRIA", text), orders=into_trieste)) == [("not enter", False)]
    assert verdicts(said(("ITALY", "TURKEY", text), orders=into_trieste)) == [("not enter", True)]
    assert verdicts(said(("ITALY", "GLOBAL", text), orders=into_trieste)) == [("not enter", None)]
    assert verdicts(said(("ITALY", "AUSTRIA", "I will support you."), orders=ITALY_HELPS)) == [("support", True)]
    assert verdicts(said(("ITALY", "TURKEY", "I will support you."), orders=ITALY_HELPS)) == [("support", False)]


def test_what_it_is_not_to_enter():
    for text, orders, kept in [
        ("I will not enter Gascony.", ["A PAR - GAS"], False),
        ("I will not enter Paris.", ["A PAR - GAS"], True),  # to leave it is not to enter
        ("I will not enter Burgundy.", ["A MAR S A PAR - BUR", "A PAR - GAS"], True),  # to support is not to move
        ("I will not enter Gascony or Burgundy.", ["A MAR - GAS"], False),
        ("I will not enter Spain.", ["F GAS - SPA/NC"], False),
        ("I will not attack Germany.", ["A BUR - BEL"], True),
        ("I will not attack Germany.", ["A BUR - MUN"], False),  # a center without a unit
        ("I will not attack Germany.", ["A BUR - RUH"], False),  # a unit away from every center
        ("I will not attack you.", ["A BUR - RUH"], False),
        ("I will not attack France.", ["A PAR - BUR"], None),  # oneself
    ]:
        units = {"FRANCE": ["A PAR", "A MAR", "A BUR", "F GAS"], "GERMANY": ["A RUH", "F KIE"]}
        centers = {"FRANCE": ["PAR", "MAR"], "GERMANY": ["MUN", "KIE", "BER"]}
        game = Game.from_position("S1901M", units, centers, rules=Rules(years=2))
        game.send("FRANCE", "GERMANY", text)
        game.submit("FRANCE", orders)
        game.advance()
        assert verdicts(game.record()) == [("not enter", kept)]


@pytest.mark.parametrize(
    ("phase", "text", "disbanded", "kept"),
    [
        ("W1901A", "I will disband this winter.", 1, True),
        ("S1901M", "I will disband this winter.", 0, False),
        ("W1901A", "I will disband two units.", 1, False),
        ("S1901M", "I disband all my units!", 2, False),
        ("S1901M", "In Winter 1901 I will disband two units.", 1, False),
        ("S1901M", "I will disband both armies.", 2, True),
        ("W1902A", "I will disband all my units.", 3, True),  # none is left
        ("W1902A", "I will disband one.", 3, False),
    ],
)
def test_disbanding_is_due_in_the_next_winter(phase, text, disbanded, kept):
    game = Game(rules=Rules(years=3))
    while game.phase != "S1903M":
        if game.phase == phase:
            game.send("FRANCE", "GLOBAL", text)
        if game.phase == "W1901A":
            game.submit("FRANCE", [f"{unit} D" for unit in ("A PAR", "A MAR", "F BRE")[:disbanded]])
        game.advance()
    assert verdicts(game.record()) == [("disband", kept)]


def test_a_game_that_ends_before_is_not_judged():
    assert verdicts(said(("FRANCE", "GLOBAL", "I will disband."), phases=1)) == [("disband", None)]
    assert verdicts(said(("FRANCE", "GLOBAL", "I will hold."), phases=0)) == []


def test_shares_by_kind_and_sender():
    record = said(
        ("FRANCE", "GLOBAL", "I will hold. I will not enter Burgundy."),
        ("ITALY", "GLOBAL", "I will hold."),
        orders=PARIS_MOVES,
    )
    found = analyze_messages(record)
    assert (found.kept(), found.broken(), found.kept_share()) == (1, 2, pytest.approx(1 / 3))
    assert (found.kept("hold"), found.broken("hold", "FRANCE"), found.kept_share(sender="ITALY")) == (1, 1, 1.0)
    assert math.isnan(found.kept_share("support"))
    assert found.to_dict()["promises"]["hold"] == {"kept": 1, "broken": 1, "found": 2}


def test_the_tables_count_over_games():
    record = said(
        ("FRANCE", "GLOBAL", "I will hold. I will not enter Burgundy."),
        ("ITALY", "FRANCE", "I will hold."),
        orders=PARIS_MOVES,
    )
    row = ConditionMessages("", "", dict.fromkeys(("one", "other"), analyze_messages(record)))
    tables = talk_tables([row])
    messages, promises, matrix = ([list(map(str, column.cells)) for column in each.columns] for each in tables)
    assert [column[0].split()[0] for column in messages[1:4]] == ["2", "2.0", "0.50"]
    kinds = {kind: numbers for kind, *numbers in zip(*promises[1:], strict=True)}
    assert kinds["hold"] == ["4", "2", "2", "0.50 [identical]"]
    assert kinds["not enter"] == ["2", "0", "2", "0.00 [identical]"]
    assert list(zip(*matrix, strict=True)) == [("FRANCE", "-", "2"), ("ITALY", "2", "-")]


def test_who_talks_to_whom():
    private = [("FRANCE", "ITALY", "Hello you"), ("FRANCE", "ITALY", "Well?"), ("ITALY", "FRANCE", "No")]
    found = analyze_messages(said(("FRANCE", "GLOBAL", "Hello"), *private))
    assert found.matrix == {"FRANCE": {"GLOBAL": 1, "ITALY": 2}, "ITALY": {"FRANCE": 1}}
    assert (found.messages, found.public_share) == (4, 0.25)


def test_doves_promise_and_keep_their_word():
    env = welfare_env.make(years=4)
    game = play(env, {power: agents.make("dove") for power in env.possible_agents}).game
    found = analyze_messages(game.record())
    assert found.broken() == 0
    assert found.kept("hold") > 0
    assert found.kept("not enter") == 7 * 8  # each in every movement phase


# Sentences

PARSER = SentenceParser(welfare_env.load_board("standard"))

ANNOUNCED = [
    # hold
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
    ("Rest assured that I will never invade Italian territory.", "not enter"),
    ("I have no intention of moving into the English Channel.", "not enter"),
    ("You have my word: I'll never cross your border.", "not enter"),
    ("I'll keep away from your home centers.", "not enter"),
    ("I will not move my fleet to the North Sea.", "not enter"),
    ("I can confirm that we won't touch your provinces.", "not enter"),
    # support
    ("I support A PAR to BUR", "support"),
    ("My army in Tyrolia will support your army in Munich.", "support"),
    ("I am supporting Italy into Trieste with A SER.", "support"),
    ("I intend to support your attack on Warsaw.", "support"),
    # disband
    ("I will disband.", "disband"),
    ("In winter I will disband A PAR and F BRE.", "disband"),
    ("To show good faith, I will demilitarize fully.", "disband"),
    ("I will disband at least one.", "disband"),
]

OPEN = [
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
    "I will not take orders from you.",
    "I will not enter into an alliance with Turkey.",
    "I will not cross you.",
    "I will hold up my end of the bargain.",
    "We hold all the power in the west.",
    "I still hold Belgium.",
    "I will stand by you.",
    "I don't touch alcohol.",
    "I will support Austria against Russia.",
    "I support your proposal.",
    "I will support you in your efforts for peace.",
    "I will support Italy's plan for peace.",
    "I will disband the alliance against your army.",
    "We will demilitarise Burgundy.",
    # others' words
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
    "If I hold Paris, you can have Burgundy.",
    # of somebody else, of both, of the past
    "Turkey will not attack you.",
    "Let us support each other.",
    "We will hold Burgundy together.",
    "I held Paris.",
    "I did not enter Burgundy.",
    "I want to support you into Burgundy.",
]


ABOUT = [
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


def test_each_sentence_counts_once():
    found = PARSER.find("I will hold. I will not enter Burgundy; I'll support Munich!\nI disband two units.")
    assert [each.kind for each in found] == ["hold", "not enter", "support", "disband"]


def test_what_is_found_and_left_open():
    assert [text for text in OPEN for each in PARSER.find(text) if each.is_open] == OPEN


def test_what_is_not_found():
    assert [text for text in NOTHING if list(PARSER.find(text))] == []


def test_what_it_is_about():
    found = [(text, each) for text, _, _ in ABOUT for each in PARSER.find(text)]
    assert [(text, set(PARSER.places(each.what)), set(PARSER.powers(each.what))) for text, each in found] == ABOUT


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
