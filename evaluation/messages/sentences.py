"""Find sentences in which a player announces an action, by English patterns.

The patterns favor precision over recall. A sentence matches if a clause begins with an announcement in the first person
("I will", "I promise not to", "My army in Paris will"), followed by a verb of one of the four kinds and an object that
makes sense in the game: units, a province or a power. So "I hold that you lie" and "we stand together" do not match.
Quotations, reported speech and statements marked as untrue are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from welfare_env import Board

Kind = Literal["hold", "disband", "not enter", "support"]
KINDS: tuple[Kind, ...] = ("hold", "disband", "not enter", "support")
REMEMBERED = 10_000  # cached sentences per board

_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
# Quotations: in quotation marks (an unclosed quotation extends to the end of its line), or after ">".
_QUOTED = re.compile(
    r"\"[^\"\n]*(?:\"|$)|\u201c[^\u201d\n]*(?:\u201d|$)|\u00ab[^\u00bb\n]*(?:\u00bb|$)"
    r"|(?<!\w)'(?:[^'\n]|'(?=\w))*'(?!\w)|^[ \t]*>.*$",
    re.M,
)
_ABBREVIATED = re.compile(r"\bSt\.|\b(?:vs|e\.g|i\.e)\.", re.I)

# The parts of patterns, in which a blank stands for any white space, and {NAME} for another part as a group. PLACE and
# POWER are the names on the board.
_PARTS = {
    # clauses
    "SPAN": "turn|phase|season|year|round|time|spring|fall|autumn|winter",
    "TIME": r"(?:(?:for|in|by|until|from|during|throughout) )?(?:(?:this|(?:the )?next|the|every|each) {SPAN}|now|today"
    r"|then)\b",
    "SEASON": r"in (?:the )?(?:(?:spring|fall|autumn|winter)(?: of)?(?: \d{4})?|\d{4})",
    "VOW": "(?:I (?:can |do |hereby |solemnly |will )?(?:promise|assure|swear|pledge|confirm|guarantee|repeat|vow"
    "|declare|announce|tell)(?: (?:to )?(?:you|all|everyone|everybody))*(?: (?:again|now))?|you have my word"
    "|I give you my word|(?:rest|be) assured|know|as (?:I )?(?:said|promised|agreed|discussed)(?: before)?)(?: that)?",
    "LEAD": r"(?:(?:{VOW}|{SEASON}|{TIME}|yes|yeah|ok|okay|sure|agreed|well|indeed|of course|in turn|in return|again"
    r"|also|therefore|meanwhile|please|(?:as|in) an? (?:sign|token|gesture|show) of (?:good )?\w+)\s*[,:]? )*",
    "START": r"(?:^|[,:()]\s*|\s[-\u2013\u2014]+ |\u2014|\b(?:and|but|so) )[\s*\u2022-]*{LEAD}",
    "END": r"\s*(?:$|[.!,:()\u2013\u2014]|\s-+\s)",
    "STOP": r"{END}| (?:and|but|while|so|or|if|unless|until|when|because|since|provided|as (?:long|promised|agreed))\b",
    "WILL": "(?: (?:will|shall|(?:am|are) (?:going|planning) to|(?:promise|pledge|swear|vow|intend|plan|agree) to)|'ll"
    "|'(?:m|re) (?:going|planning) to)",
    "BEING": "(?: (?:am|are|(?:will|shall) be)|'m|'re|'ll be)",
    "NOT": "(?: (?:(?:will|shall) (?:not|never)|won't|do not|don't|(?:am|are) not going to|aren't going to"
    "|(?:promise|pledge|swear|vow|agree|intend) (?:not|never) to|(?:do not|don't) (?:intend|plan) to"
    "|have no (?:plans?|intentions?) (?:to|of))|'ll (?:not|never)|'(?:m|re) not going to"
    "|'ve no (?:plans?|intentions?) (?:to|of))",
    "NOT_BEING": "(?: (?:am|are) not| aren't|'m not|'re not| (?:will not|won't) be)",
    "ADVERB": "(?: (?:simply|certainly|definitely|gladly|happily|surely|fully|completely|peacefully|voluntarily|all"
    "|also|again|just|now|still|then|therefore|only|ever|indeed|both))?",
    # objects
    "UNITS": "units?|army|armies|fleets?|forces|troops|pieces?",
    "GROUND": r"(?:(?:supply |home )?cent(?:er|re)s?|SCs?|dots?|provinces?|territor(?:y|ies)|lands?|homeland|home"
    r"|borders?|soil|waters|coasts?|positions?|units?|army|armies|fleets?|forces)",
    "OWN": r"(?:(?:all|both|each|every|any|either|{NUMBER}|a|an|another|some|several|more|at least|of|my|our|the|these"
    r"|those|own|other|current|present|existing|remaining|extra|excess|surplus|home|new) )*",
    "NUMBER": r"one|two|three|four|five|six|seven|eight|\d{1,2}",
    "NOBODY": "anyone|anybody|others|(?:my |our )?(?:neighbou?rs?|allies|ally|friends?)",
    "SUBJECT": r"I|we|my {UNITS}(?: (?:in|at) {PLACE})?|(?:A|F|army|fleet) {PLACE}",
    # keeping out
    "PEOPLES": r"{POWER}(?:'s?)?|\w+ian|\w+ish|german|french",
    "WHOSE": "(?:(?:any|either|all|both|one|each|of|in|the|your|their|his|her|its|own|a|an|single|{PEOPLES}) )*",
    "SOMEWHERE": r"{WHOSE}(?:{PLACE}|{GROUND}\b)",
    "SOMEBODY": r"{WHOSE}(?:{PLACE}|{GROUND}\b|{POWER}(?!'s)|you\b(?!r)|{NOBODY}\b)",
    "MOVING": r"(?:go|going|mov(?:e|ing)|march(?:ing)?|sail(?:ing)?|step(?:ping)?|advanc(?:e|ing)|cross(?:ing)?"
    r"|push(?:ing)?)(?: {OWN}(?:{UNITS}|A|F)(?: (?:(?:in|from|at) )?{PLACE})?)?"
    r" (?:into|in to|to|onto|on|in|through|towards?|against|near|across|past)",
    # holding
    "ARMY": r"{OWN}{UNITS}\b|{OWN}positions?\b(?! (?:on|that|as|regarding|about))|everything\b|all(?={STOP})",
    "THERE": r"(?:put|still|here|there|home|as (?:I am|we are)|where (?:I am|(?:we|they) are))(?={STOP}| {TIME})"
    r"|(?:in|at|on|within|inside|behind) {OWN}(?:place|positions?|home|borders?|territory|cent(?:er|re)s|provinces"
    r"|{PLACE})",
    "UNIT": r"(?:(?:A|F|army|fleet) (?:(?:in|at) )?)?{PLACE}"
    r"(?! (?:accountable|responsible|to (?:its|their|your|his|her|ransom)|in (?:esteem|contempt)))",
    "WHEN": r"{TIME}|(?:for now|as agreed|again)\b",
    # disbanding
    "ALL": r"{STOP}| (?:completely|fully|entirely|altogether|further|voluntarily|{TIME}|{SEASON})\b| {OWN}{UNITS}\b"
    r"| (?:everything|all|both|{OWN}{NUMBER})(?={STOP}| {TIME})",
    # supporting
    "THEIRS": r"(?:your|the|my|our|his|her|their|{PEOPLES})",
    "ITS_UNIT": r"(?:{THEIRS} )*(?:own )?(?:(?:A|F|army|fleet|unit) (?:(?:in|at|of|from) )?)?{PLACE}(?!'s)",
    "ITS_MOVES": r"{THEIRS} (?:\w+ )?(?:{UNITS}|(?:move|moves|attack|attacks|advance|hold))\b",
    "NEAR": r" (?:in|into|to|at|from|on|onto|with|for|by) (?:[\w']+ ){0,4}?{PLACE}",
}
# What follows the subject, in the order in which the patterns are tried; "what" is the object.
_NEVER = "(?:{NOT}|{NOT_BEING}){ADVERB} "
_DOING = "(?:{WILL}|{BEING}){ADVERB} "
_MAYBE = "(?:{WILL}|{BEING})?{ADVERB} "
_ANNOUNCED: list[tuple[Kind, str]] = [
    ("not enter", _NEVER + "(?:enter|attack|invade|touch)(?:ing)?(?P<what> {SOMEBODY}.*)"),
    ("not enter", _NEVER + "(?:enter|attack|invade)(?:ing)?(?P<what>(?={STOP}).*)"),
    ("not enter", _NEVER + "(?:take|taking|cross(?:ing)?)(?P<what> {SOMEWHERE}.*)"),
    ("not enter", _NEVER + "{MOVING}(?P<what> {SOMEBODY}.*)"),
    (
        "not enter",
        "{WILL}{ADVERB} (?:stay|keep|remain) (?:well |far )?(?:out of|away from|off|clear of)(?P<what> {SOMEBODY}.*)",
    ),
    ("hold", _DOING + "hold(?:ing)?(?P<what>(?:{STOP}| against {PLACE}| (?:{ARMY}|{THERE}|{UNIT}|{WHEN})).*)"),
    ("hold", _DOING + "(?:stay|remain|stand)(?:ing)?(?P<what> (?:{THERE}).*)"),
    ("hold", _NEVER + "mov(?:e|ing)(?P<what>(?:{STOP}| (?:{ARMY}|from {PLACE}|(?:A|F) {PLACE}|{WHEN})).*)"),
    ("hold", " hold(?P<what>(?:{STOP}| (?:{ARMY}|{THERE}|{WHEN})).*)"),
    ("hold", r" hold(?P<what> {UNIT}(?:\s*[.!]?\s*$| {TIME}).*)"),  # "I hold Paris and Brest" is about ownership
    ("disband", _MAYBE + "disband(?:ing)?(?P<what>(?:{ALL}| {OWN}(?:(?:A|F|army|fleet) )?{PLACE}).*)"),
    ("disband", _MAYBE + "(?:demilitari[sz](?:e|ing)|disarm(?:ing)?)(?P<what>{ALL}.*)"),
    (
        "support",
        _DOING + "support(?:ing)?(?P<what> (?:{ITS_UNIT}|{ITS_MOVES}|(?:you|{POWER})(?={STOP}|{NEAR}| {TIME})).*)",
    ),
    ("support", "{ADVERB} support(?P<what> (?:{ITS_UNIT}|{ITS_MOVES}(?=.*{PLACE})|(?:you|{POWER}){NEAR}).*)"),
]


def _regex(text: str, **names: str) -> re.Pattern[str]:
    """A pattern of parts."""

    def filled(part: str) -> str:
        spaced = part.replace(" ", r"\s+")
        return re.sub(r"\{([A-Z_]+)\}", lambda found: names.get(found[1]) or f"(?:{filled(_PARTS[found[1]])})", spaced)

    return re.compile(filled(text), re.I)


# Marks of clauses that are not the sender's own announcement
_DISOWNED_BEFORE = re.compile(
    r"\b(?:says?|said|saying|claim(?:s|ed|ing)?|told|tells|telling|wrote|writes?|heard|hear|rumou?rs?|believ(?:e|es|ed)"
    r"|thinks?|thought|suppos\w+|assum\w+|imagin\w+|pretend\w*|doubt\w*|wonder\w*|suspect\w*|fear\w*|afraid|wish\w*"
    r"|would|could|might|maybe|perhaps|possibly|probably|jok(?:e|es|ing)|false|untrue|not\s+true|lie|lies|lied|nobody"
    r"|no\s+one|option|scenario|example|quote|asks?|asked|why|how|promised|assured|vowed|swore|pledged|announced|declared"
    r"|replied|answered|reads?|reports?|reported|message|letter|words|according)\b",
    re.I,
)
_DISOWNED_BEHIND = re.compile(
    r"\b(?:kidding|joking|not\s+really|as\s+if|or\s+so|says?|said|claim(?:s|ed)?|(?:you|they|he|she)\s+(?:think|believe)"
    r"|(?:is|are|was)\s+(?:a\s+lie|lies|false|untrue|nonsense|not\s+true|what)"
    r"|would(?:\s+only)?\s+be\s+(?:a\s+|an\s+)?(?:foolish|folly|mad|madness|mistake|error|suicide|stupid|wrong))\b",
    re.I,
)
_VOWED = _regex("{VOW}")
_SHARED = re.compile(r"\b(?:together|jointly|each\s+other|one\s+another)\b", re.I)

# Conditions, alternatives and other times
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|assuming|as\s+long\s+as|so\s+long\s+as|once|when(?:ever)?|until|till|before|after|should\s+you"
    r"|in\s+(?:return|exchange|case)|on\s+condition|depend\w*|whether|without|except|but\s+one|other\s+than|otherwise"
    r"|propos\w+|suggest\w*|offer\w*|deal)\b",
    re.I,
)
_EITHER = re.compile(r"\b(?:or|either)\b", re.I)
_LATER = re.compile(
    r"\b(?:next|later|eventually|soon|someday|one\s+day|last|yesterday|tomorrow|in\s+(?:the\s+)?(?:spring|fall|autumn)"
    r"|the\s+future)\b",
    re.I,
)
_CLAUSE_END = re.compile(
    r",?\s+(?:but|while|whereas|because|since|so|although|though|and\s+(?:I|we|you|he|she|they|it|my|your)\b|in\s+order|to"
    r"\s+(?:show|stop|prevent|protect|help|keep|let|deter)|which|as\s+(?:I|we|you|it)\b|against)\b|[,:(]\s*(?:I|we|you)\b"
    r"|\s[-\u2013\u2014]+\s|\u2014|[:(]",
    re.I,
)


@dataclass(frozen=True)
class Announcement:
    """A sentence that announces an action of its sender.

    Attributes:
        kind: the announced action.
        sentence: the text of the sentence.
        what: the part of the sentence with the object.
        is_open: whether the sentence has a condition, an alternative or another time.
    """

    kind: Kind
    sentence: str
    what: str
    is_open: bool


class SentenceParser:
    """Finds announcements, and mentions of a board's provinces and powers: codes in capitals, names in any case."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._codes = {_folded(name): code for code, name in board.long_names.items() if code in board.kind}
        long = [r"\s+".join(map(re.escape, name.split())) for name in sorted(self._codes, key=lambda n: (-len(n), n))]
        codes = "|".join(re.escape(code) for code in board.kind)
        powers = "|".join(re.escape(power) for power in board.powers)
        self._name = re.compile(rf"\b(?:{'|'.join(long) or '(?!)'})\b", re.I)
        place = rf"(?:\b(?:{'|'.join([*long, f'(?-i:{codes})'])})\b(?:/[NSEW]C\b)?)"
        self._patterns = [
            (kind, _regex("{START}(?P<subject>{SUBJECT})" + text, PLACE=place, POWER=rf"\b(?:{powers})\b"))
            for kind, text in _ANNOUNCED
        ]
        # Cached: players repeat themselves, and the patterns are slow.
        self._in_sentence = lru_cache(REMEMBERED)(self._read)
        self.places, self.powers = (lru_cache(REMEMBERED)(find) for find in (self._places, self._powers))

    def _places(self, text: str) -> frozenset[str]:
        """The provinces named in a text."""
        codes = {word for word in re.findall(r"\b[A-Z]{3}\b", text) if word in self.board.kind}
        return frozenset(codes | {self._codes[_folded(match)] for match in self._name.findall(text)})

    def _powers(self, text: str) -> frozenset[str]:
        """The powers named in a text, except within names of provinces."""
        bare = self._name.sub(" ", text)
        return frozenset(power for power in self.board.powers if re.search(rf"\b{re.escape(power)}\b", bare, re.I))

    def find(self, text: str) -> Iterator[Announcement]:
        """The announcements of a message, at most one per sentence."""
        plain = text.replace("\u2019", "'").replace("\u2018", "'")
        plain = _QUOTED.sub(lambda match: "\u25a1" * len(match.group()), plain)
        plain = _ABBREVIATED.sub(lambda match: match.group().replace(".", " "), plain)
        for match in _SENTENCE.finditer(plain):
            if not match.group().rstrip().endswith("?"):
                found = self._in_sentence(match.group())
                if found is not None:
                    kind, what, is_open = found
                    yield Announcement(kind, text[match.start() : match.end()].strip(), what, is_open)

    def _read(self, sentence: str) -> tuple[Kind, str, bool] | None:
        """The kind, object and openness of an announcement; None if the sentence is not one."""
        for kind, pattern in self._patterns:
            found = pattern.search(sentence)
            if found is not None and not _is_disowned(found):
                what = found["what"]
                end = _CLAUSE_END.search(what)
                about = what[: end.start()] if end else what
                is_open = bool(_CONDITION.search(sentence) or _LATER.search(sentence))
                is_open |= kind != "not enter" and bool(_EITHER.search(about))
                return kind, (found["subject"] + about if kind == "hold" else about), is_open
        return None


def _is_disowned(found: re.Match[str]) -> bool:
    """Whether the rest of the sentence marks it as reported speech, not serious, or a joint action."""
    before = _VOWED.sub(" ", found.string[: found.start("subject")])
    behind = found["what"]
    is_shared = found["subject"].casefold() == "we" and _SHARED.search(found.string) is not None
    return is_shared or bool(_DISOWNED_BEFORE.search(before) or _DISOWNED_BEHIND.search(behind))


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
