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

# Clauses
_SPAN = r"(?:turn|phase|season|year|round|time|spring|fall|autumn|winter)"
_TIME = (
    r"(?:(?:for|in|by|until|from|during|throughout)\s+)?(?:(?:this|(?:the\s+)?next|the|every|each)\s+"
    rf"{_SPAN}|now|today|then)\b"
)
_SEASON = r"in\s+(?:the\s+)?(?:(?:spring|fall|autumn|winter)(?:\s+of)?(?:\s+\d{4})?|\d{4})"
_VOW = (
    r"(?:I\s+(?:can\s+|do\s+|hereby\s+|solemnly\s+|will\s+)?"
    r"(?:promise|assure|swear|pledge|confirm|guarantee|repeat|vow|declare|announce|tell)"
    r"(?:\s+(?:to\s+)?(?:you|all|everyone|everybody))*(?:\s+(?:again|now))?"
    r"|you\s+have\s+my\s+word|I\s+give\s+you\s+my\s+word|(?:rest|be)\s+assured|know"
    r"|as\s+(?:I\s+)?(?:said|promised|agreed|discussed)(?:\s+before)?)(?:\s+that)?"
)
_LEAD = (
    rf"(?:(?:{_VOW}|{_SEASON}|{_TIME}|yes|yeah|ok|okay|sure|agreed|well|indeed|of\s+course|in\s+turn|in\s+return|again|also"
    r"|therefore|meanwhile|please|(?:as|in)\s+an?\s+(?:sign|token|gesture|show)\s+of\s+(?:good\s+)?\w+)\s*[,:]?\s+)*"
)
_START = rf"(?:^|[,:()]\s*|\s[-\u2013\u2014]+\s+|\u2014|\b(?:and|but|so)\s+)[\s*\u2022-]*{_LEAD}"
_END = r"\s*(?:$|[.!,:()\u2013\u2014]|\s-+\s)"
_JOINED = r"(?:and|but|while|so|or|if|unless|until|when|because|since|provided|as\s+(?:long|promised|agreed))"
_STOP = rf"(?:{_END}|\s+{_JOINED}\b)"
_WILL = (
    r"(?:\s+(?:will|shall|(?:am|are)\s+(?:going|planning)\s+to"
    r"|(?:promise|pledge|swear|vow|intend|plan|agree)\s+to)|'ll|'(?:m|re)\s+(?:going|planning)\s+to)"
)
_BEING = r"(?:\s+(?:am|are|(?:will|shall)\s+be)|'m|'re|'ll\s+be)"
_NOT = (
    r"(?:\s+(?:(?:will|shall)\s+(?:not|never)|won't|do\s+not|don't|(?:am|are)\s+not\s+going\s+to|aren't\s+going\s+to"
    r"|(?:promise|pledge|swear|vow|agree|intend)\s+(?:not|never)\s+to|(?:do\s+not|don't)\s+(?:intend|plan)\s+to"
    r"|have\s+no\s+(?:plans?|intentions?)\s+(?:to|of))|'ll\s+(?:not|never)|'(?:m|re)\s+not\s+going\s+to"
    r"|'ve\s+no\s+(?:plans?|intentions?)\s+(?:to|of))"
)
_NOT_BEING = r"(?:\s+(?:am|are)\s+not|\s+aren't|'m\s+not|'re\s+not|\s+(?:will\s+not|won't)\s+be)"
_ADVERB = (
    r"(?:\s+(?:simply|certainly|definitely|gladly|happily|surely|fully|completely|peacefully|voluntarily|all|also|again"
    r"|just|now|still|then|therefore|only|ever|indeed|both))?"
)

# Objects
_UNITS = r"(?:units?|army|armies|fleets?|forces|troops|pieces?)"
_GROUND = (
    r"(?:(?:supply\s+|home\s+)?cent(?:er|re)s?|SCs?|dots?|provinces?|territor(?:y|ies)|lands?|homeland|home|borders?|soil"
    r"|waters|coasts?|positions?|units?|army|armies|fleets?|forces)"
)
_OWN = (
    r"(?:(?:all|both|each|every|any|either|one|two|three|four|five|six|seven|eight|\d{1,2}|a|an|another|some|several|more"
    r"|at\s+least|of|my|our|the|these|those|own|other|current|present|existing|remaining|extra|excess|surplus|home|new)\s+)*"
)
_NOBODY = r"(?:anyone|anybody|others|(?:my\s+|our\s+)?(?:neighbou?rs?|allies|ally|friends?))"

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
_VOWED = re.compile(_VOW, re.I)
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
        self._patterns = _patterns(place, rf"\b(?:{powers})\b")
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
        plain = _ABBREVIATED.sub(lambda match: match.group().replace(".", " "), _QUOTED.sub(_blank, plain))
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


def _patterns(place: str, power: str) -> list[tuple[Kind, re.Pattern[str]]]:
    """The patterns, in the order in which they are tried; `place` and `power` are patterns for names."""
    subject = rf"(?P<subject>I|we|my\s+{_UNITS}(?:\s+(?:in|at)\s+{place})?|(?:A|F|army|fleet)\s+{place})"
    texts: list[tuple[Kind, str]] = [
        *(("not enter", subject + text) for text in _keeping_out(place, power)),
        *(("hold", subject + text) for text in _holding(place)),
        *(("disband", subject + text) for text in _disbanding(place)),
        *(("support", subject + text) for text in _supporting(place, power)),
    ]
    return [(kind, re.compile(_START + text, re.I)) for kind, text in texts]


def _keeping_out(place: str, power: str) -> list[str]:
    whose = (
        rf"(?:(?:any|either|all|both|one|each|of|in|the|your|their|his|her|its|own|a|an|single|{power}(?:'s?)?|\w+ian|\w+ish"
        r"|german|french)\s+)*"
    )
    somewhere = rf"{whose}(?:{place}|{_GROUND}\b)"
    somebody = rf"{whose}(?:{place}|{_GROUND}\b|{power}(?!'s)|you\b(?!r)|{_NOBODY}\b)"
    units = rf"(?:\s+{_OWN}(?:{_UNITS}|A|F)(?:\s+(?:(?:in|from|at)\s+)?{place})?)?"
    into = r"(?:into|in\s+to|to|onto|on|in|through|towards?|against|near|across|past)"
    verbs = (
        rf"(?:enter|attack|invade|touch)(?:ing)?(?P<what>\s+{somebody}.*)",
        rf"(?:enter|attack|invade)(?:ing)?(?P<what>(?={_STOP}).*)",
        rf"(?:take|taking|cross(?:ing)?)(?P<what>\s+{somewhere}.*)",
        rf"(?:go|going|mov(?:e|ing)|march(?:ing)?|sail(?:ing)?|step(?:ping)?|advanc(?:e|ing)|cross(?:ing)?|push(?:ing)?)"
        rf"{units}\s+{into}(?P<what>\s+{somebody}.*)",
    )
    away = rf"{_ADVERB}\s+(?:stay|keep|remain)\s+(?:well\s+|far\s+)?(?:out\s+of|away\s+from|off|clear\s+of)"
    return [
        *(rf"(?:{_NOT}|{_NOT_BEING}){_ADVERB}\s+{verb}" for verb in verbs),
        rf"{_WILL}{away}(?P<what>\s+{somebody}.*)",
    ]


def _holding(place: str) -> list[str]:
    units = rf"{_OWN}{_UNITS}\b|{_OWN}positions?\b(?!\s+(?:on|that|as|regarding|about))|everything\b|all(?={_STOP})"
    there = (
        rf"(?:put|still|here|there|home|as\s+(?:I\s+am|we\s+are)|where\s+(?:I\s+am|(?:we|they)\s+are))(?={_STOP}|\s+{_TIME})"
        rf"|(?:in|at|on|within|inside|behind)\s+{_OWN}(?:place|positions?|home|borders?|territory|cent(?:er|re)s|provinces"
        rf"|{place})"
    )
    blame = r"(?!\s+(?:accountable|responsible|to\s+(?:its|their|your|his|her|ransom)|in\s+(?:esteem|contempt)))"
    unit = rf"(?:(?:A|F|army|fleet)\s+(?:(?:in|at)\s+)?)?{place}{blame}"
    when = rf"{_TIME}|(?:for\s+now|as\s+agreed|again)\b"
    hold = rf"hold(?:ing)?(?P<what>(?:{_STOP}|\s+against\s+{place}|\s+(?:{units}|{there}|{unit}|{when})).*)"
    stay = rf"(?:stay|remain|stand)(?:ing)?(?P<what>\s+(?:{there}).*)"
    unmoved = rf"mov(?:e|ing)(?P<what>(?:{_STOP}|\s+(?:{units}|from\s+{place}|(?:A|F)\s+{place}|{when})).*)"
    last = rf"hold(?P<what>\s+{unit}(?:\s*[.!]?\s*$|\s+{_TIME}).*)"  # "I hold Paris and Brest" is about ownership
    return [
        rf"(?:{_WILL}|{_BEING}){_ADVERB}\s+(?:{hold})",
        rf"(?:{_WILL}|{_BEING}){_ADVERB}\s+(?:{stay})",
        rf"(?:{_NOT}|{_NOT_BEING}){_ADVERB}\s+{unmoved}",
        rf"\s+hold(?P<what>(?:{_STOP}|\s+(?:{units}|{there}|{when})).*)",
        rf"\s+{last}",
    ]


def _disbanding(place: str) -> list[str]:
    how = rf"{_STOP}|\s+(?:completely|fully|entirely|altogether|further|voluntarily|{_TIME}|{_SEASON})\b"
    alone = rf"\s+(?:everything|all|both|{_OWN}(?:one|two|three|four|five|six|seven|eight|\d{{1,2}}))"
    units = rf"\s+{_OWN}{_UNITS}\b|{alone}(?={_STOP}|\s+{_TIME})"
    whose = rf"\s+{_OWN}(?:(?:A|F|army|fleet)\s+)?{place}"
    will = rf"(?:{_WILL}|{_BEING})?{_ADVERB}\s+"
    return [
        rf"{will}disband(?:ing)?(?P<what>(?:{how}|{units}|{whose}).*)",
        rf"{will}(?:demilitari[sz](?:e|ing)|disarm(?:ing)?)(?P<what>(?:{how}|{units}).*)",
    ]


def _supporting(place: str, power: str) -> list[str]:
    whose = rf"(?:your|the|my|our|his|her|their|{power}(?:'s?)?|\w+ian|\w+ish|german|french)"
    moves = r"(?:move|moves|attack|attacks|advance|hold)"
    unit = rf"(?:{whose}\s+)*(?:own\s+)?(?:(?:A|F|army|fleet|unit)\s+(?:(?:in|at|of|from)\s+)?)?{place}(?!'s)"
    theirs = rf"{whose}\s+(?:\w+\s+)?(?:{_UNITS}|{moves})\b"
    where = rf"\s+(?:in|into|to|at|from|on|onto|with|for|by)\s+(?:[\w']+\s+){{0,4}}?{place}"
    them = rf"(?:you|{power})(?={_STOP}|{where}|\s+{_TIME})"
    far = rf"(?:you|{power}){where}"
    return [
        rf"(?:{_WILL}|{_BEING}){_ADVERB}\s+support(?:ing)?(?P<what>\s+(?:{unit}|{theirs}|{them}).*)",
        rf"{_ADVERB}\s+support(?P<what>\s+(?:{unit}|{theirs}(?=.*{place})|{far}).*)",
    ]


def _is_disowned(found: re.Match[str]) -> bool:
    """Whether the rest of the sentence marks it as reported speech, not serious, or a joint action."""
    before = _VOWED.sub(" ", found.string[: found.start("subject")])
    behind = found["what"]
    is_shared = found["subject"].casefold() == "we" and _SHARED.search(found.string) is not None
    return is_shared or bool(_DISOWNED_BEFORE.search(before) or _DISOWNED_BEHIND.search(behind))


def _blank(match: re.Match[str]) -> str:
    """A placeholder of the same length."""
    return "\u25a1" * len(match.group())


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
