"""Policies and profiles from text."""

import copy
import pickle
from collections import Counter

import pytest

import agents
from agents import DovePolicy, specs
from agents.specs import AGENTS, Profile, ProfileError, as_given, listed, read, read_profile, usages
from agents.specs.profiles import written_terms
from agents.specs.spec import DEEPEST, LONGEST
from welfare_env import UnknownAgentError, UnknownPowerError

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")
NESTED = "exploiter:nice=(lm:scripted/stub,ablate=no_reasoning+no_examples),attack=dumbbot"


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        (" ( dove : share = .50 ) ", "dove:share=0.5"),
        ("exploiter:years=01,units=never,nice=hold,attack=hold", "exploiter:nice=hold,attack=hold,units=never,years=1"),
        ("exploiter:nice=dove:share=1,attack=hold", "exploiter:nice=(dove:share=1.0),attack=hold"),
        ("grim: armed=yes, slack=1", "grim:slack=1,armed=yes"),
        ("mix:FairBot=.05,CooperateBot=19/20", "mix:FairBot=1/20,CooperateBot=19/20"),
        ("mix:(dove:share=1)=1/2,hold=5e-1", "mix:(dove:share=1.0)=1/2,hold=1/2"),
        ("program: [](X(me) & true)", "program:[](X(me) & true)"),
    ],
)
def test_there_is_one_way_to_write_a_spec(spec, canonical):
    assert agents.canonical(spec) == agents.canonical(canonical) == canonical
    assert read(spec) == read(canonical) == pickle.loads(pickle.dumps(read(spec)))  # noqa: S301
    assert copy.deepcopy(read(spec)) is not None
    assert repr(agents.make(spec)) == repr(agents.make(canonical))


def test_a_spec_knows_what_is_in_it():
    spec = read(
        "exploiter:nice=(lm:openai/x,base_url=http://h/v1,summariser=openai/y),attack=(mix:rl:far=1/2,hold=1/2)"
    )
    assert spec.name == "exploiter"
    assert spec.models == (("openai/x", "http://h/v1"), ("openai/y", "http://h/v1"))
    assert spec.checkpoints == ("far",)
    assert [part.text for part, _ in spec.options["attack"].parts] == ["rl:far", "hold"]
    assert read("lm:openai/x,base_url=http://h/v1,summariser=anthropic/z").models[1] == ("anthropic/z", "")
    assert read("lm:openai/x,summariser=none").models == (("openai/x", ""),)
    assert not read("exploiter:nice=dove,attack=dumbbot").models


@pytest.mark.parametrize("path", ["a,b", "((a,b))", "(a)/(b)", "a (b)", "()"])
def test_a_path_is_read_as_it_is_written(path):
    canonical = agents.canonical(f"rl:({path})")
    assert read(canonical).checkpoints == (path,)
    assert agents.canonical(canonical) == canonical


def test_names_that_are_not_policies_are_known_only_where_they_are_given():
    assert [part.text for part, _ in read("mix:cops=1/2,dove=1/2", ("cops",)).parts] == ["cops", "dove"]
    for spec, names in (("cops", ()), ("exploiter:nice=cops,attack=dove", ("cops",))):
        with pytest.raises(UnknownAgentError, match="cops"):
            read(spec, names)
    with pytest.raises(UnknownAgentError, match="cops"):
        read("cops", ("cops",)).make()


@pytest.mark.parametrize(
    ("spec", "place", "message"),
    [
        ("", "at its end", "known are best-reply, campaign, "),
        ("dovve", "at 'dovve'", "did you mean 'dove'"),
        ("mirror.Mirror,k=3", "", "did you mean 'import:mirror.Mirror,k=3'"),
        ("lm:openai", "", "PROVIDER/MODEL"),
        ("lm:scripted/stub,speed=1", "at 'speed=1'", "takes temperature, top_p"),
        ("lm:scripted/stub,summariser=/me", "at 'summariser=/me'", "self, none"),
        ("lm:openai/x,base_url=x", "at 'base_url=x'", "give an address"),
        ("exploiter:nice=(lm:openai/x,schema=soap),attack=dove", "at 'schema=soap'", "orders, all"),
        ("exploiter:nice=dove", "at 'nice=dove'", "attack missing"),
        ("exploiter:nice=dove,nice=dove,attack=dove", "at 'nice=dove'", "twice"),
        ("program:", "at its end", "a name such as FairBot"),
        ("exploiter:nice=(dove,attack=dove", "at '(dove,attack=dove'", "not closed"),
        ("exploiter:nice=dove),attack=dove", "at '),attack=dove'", "not opened"),
        ("exploiter:nice=dove,attack=dove,units=٣", "at 'units=٣'", "whole number"),
        ("rl:x,greedy=perhaps", "at 'greedy=perhaps'", "yes"),
        ("exploiter:nice=program:FairBot,attack=dove", "at 'program:FairBot'", "writes programs"),
        ("dove:share", "at 'share'", "key=value"),
        ("exploiter:nice=lm:openai/x,schema=form,attack=dumbbot", "at 'schema=form'", "stands in parentheses: nice=("),
        ("exploiter:nice=exploiter:nice=dove,attack=random,attack=dumbbot", "at 'nice=dove'", "stands in parentheses"),
    ],
)
def test_faults_are_named_and_placed(spec, place, message):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(spec)
    assert f"agent spec {spec!r}" in str(caught.value)
    assert place in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "inner", "message"),
    [
        ("dove:share=nan", "dove:share=nan", "above 0"),
        ("dove:share=0", "dove:share=0.0", "above 0"),
        ("dove:share=1.5", "dove:share=1.5", "up to 1"),
        ("noisy:of=dove,error=2", "noisy:of=dove,error=2", "error"),
        ("deterrent:provoked=nothing", "deterrent:provoked=nothing", "'theft'"),
        ("deterrent:fighters=none", "deterrent:fighters=none", "'concerned'"),
        ("plan:budget=0", "plan:budget=0", "budget=0"),
        ("plan:nice=lm:scripted/stub", "plan:nice=(lm:scripted/stub)", "cannot be copied"),
        ("plan:model=lm:scripted/stub", "plan:model=(lm:scripted/stub)", "cannot be copied"),
        ("campaign:plan=no-hom", "campaign:plan=no-hom", "'no-home'"),
        ("campaign:plan=no-home,victim=0", "campaign:plan=no-home,victim=0", "from 1"),
        ("campaign:plan=no-home,taker=0", "campaign:plan=no-home,taker=0", "from 1"),
        ("punisher:t=0", "punisher:t=0", "from 1"),
        ("punisher:t=1,deviator=PLAYERA,remembers=yes", "punisher:t=1,", "one of the two"),
        ("mix:FairBot=0.5", "mix:FairBot=1/2", "1/2"),
        ("mix:FairBot=2,DefectBot=-1", "mix:FairBot=2,DefectBot=-1", "from 0"),
        ("best-reply:to=(best-reply:to=program:FairBot)", "best-reply:to=", "or mix:"),
        ("exploiter:nice=dove,units=1,attack=(lm:openai/x,timeout=0)", "lm:openai/x,timeout=0.0", "timeout 0.0"),
        ("rl:/dev/null", "rl:/dev/null", "no checkpoint"),
    ],
)
def test_what_a_policy_itself_refuses_is_told_with_its_spec(spec, inner, message):
    agents.canonical(spec)
    with pytest.raises(UnknownAgentError, match=message) as caught:
        agents.make(spec)
    assert f"agent spec '{inner}" in str(caught.value)


SECRET = "hunter2"  # what no error may show


@pytest.mark.parametrize(
    "spec",
    [
        "lm:openai/x,base_url=http://user:hunter2@host/v1",
        "lm:openai/x,base_url=http://user:hun,hunter2@host/v1",
        "lm:openai/x,base_url=http://user:(hunter2)@host/v1",
        "lm:openai/x,base_url=http://user:hunter2@host:port/v1",
        "lm:openai/x,key_variable=sk-hunter2",
        "lm:openai/x,key_variable=sk hunter2,flavour=no",
        "lm:openai/x,key=hunter2",
        "lm:openai/x,effort=hot,top_p=sk-hunter2x",
        "exploiter:nice=(lm:openai/x,base_url=http://user:hunter2@host/v1),attack=gandhi",
        "exploiter:nice=lm:openai/x,base_url=http://user:hunter2@host/v1,attack=dove",
        "7*lm:openai/x,base_url=http://user:hunter2@host/v1",
    ],
)
def test_no_error_quotes_a_password_or_a_key(spec):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(spec)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_every_name_has_a_usage_that_can_be_made_and_a_line_in_the_docs():
    assert [usage.partition(":")[0] for usage in usages()] == list(AGENTS)
    assert [name for name in AGENTS if f"``{name}" not in agents.__doc__] == []
    examples = {"PROVIDER/MODEL": "scripted/stub", "MODULE.CLASS,KEY=VALUE,...": "agents.DovePolicy,share=0.5"}
    for usage in usages():
        usage = usage.replace("SPEC", "program:FairBot" if usage.startswith("best-reply") else "hold")
        for word, example in (examples | {"SHARE,...": "1", "PROGRAM": "FairBot"}).items():
            usage = usage.replace(word, example)
        has_file = usage.startswith("rl:")  # which other tests make
        (agents.canonical if has_file else agents.make)(usage)


def test_specs_between_commas():
    assert listed("dove, hold") == ["dove", "hold"]
    assert listed("(dove:share=1),lm:a/b,effort=high,") == ["dove:share=1", "lm:a/b,effort=high"]


class TestLimits:
    """Text, depth and numbers are bounded before anything is made of them."""

    def test_of_length(self):
        assert agents.canonical("rl:" + "x" * (LONGEST - 3)).endswith("x")
        for reader in (read, listed, written_terms):
            with pytest.raises(UnknownAgentError, match="10,001") as caught:
                reader("rl:" + "x" * (LONGEST - 2))
            assert len(str(caught.value)) < 2500

    def test_of_depth(self):
        spec = "best-reply:to=" * (DEEPEST - 1) + "program:FairBot"
        assert agents.canonical(spec).count("(") == DEEPEST - 1
        for deeper in (f"best-reply:to={spec}", "exploiter:attack=dove,nice=(" * 100 + "dove" + ")" * 100):
            with pytest.raises(UnknownAgentError, match="20"):
                read(deeper)

    @pytest.mark.parametrize("share", ["1e999999999", "9" * 41, "1/00", "nan"])
    def test_of_shares(self, share):
        with pytest.raises(UnknownAgentError, match="is not a share"):
            agents.canonical(f"mix:FairBot={share}")
        with pytest.raises(ValueError, match="is not a share"):
            agents.MixPolicy([("FairBot", share)])


# Profiles


def texts(profile, game=0, **options):
    return [policy.text for policy in read_profile(profile).seats(POWERS, game, **options).values()]


def test_one_policy_sits_everywhere():
    assert texts("dove") == ["dove"] * 7
    assert texts(f"({NESTED})") == [NESTED] * 7
    assert texts(DovePolicy) == ["import:agents.scripted.dove.DovePolicy"] * 7


def test_counts_are_dealt_in_sequence_and_rotate_or_are_drawn():
    assert texts("4*dove + 3*hold", seating="fixed") == ["dove"] * 4 + ["hold"] * 3
    assert texts("4*dove+3*hold", 1) == ["hold", *["dove"] * 4, "hold", "hold"]
    assert texts("4*dove + 3*hold", 7) == texts("4*dove + 3*hold")
    draws, again = ([tuple(texts("3*dove + 4*hold", n, seed=1, seating="drawn")) for n in range(50)] for _ in "12")
    assert len(set(draws)) > 20
    assert draws == again


def test_named_powers_keep_their_seats():
    for game in range(8):
        for seating in ("rotated", "fixed", "drawn"):
            seats = texts("FRANCE*random + 2*dove + 4*hold", game, seating=seating)
            assert seats[2] == "random"
            assert Counter(seats) == {"random": 1, "dove": 2, "hold": 4}
    given = dict.fromkeys(POWERS, "hold") | {"ITALY": NESTED}
    assert texts(given, 3) == [given[power] for power in POWERS]


@pytest.mark.parametrize("given", [f"2*({NESTED}) + 5*hold", "FRANCE*dove + 6*random", dict.fromkeys(POWERS, "hold")])
def test_the_text_of_a_profile_reads_as_itself(given):
    profile = read_profile(given)
    assert read_profile(profile.text) == profile == read_profile(profile)
    assert as_given(given, profile) == (given if isinstance(given, str) else profile.text)


def test_the_policies_of_a_profile():
    model = "lm:scripted/stub,ablate=no_reasoning+no_examples"  # its + needs no parentheses
    profile = read_profile(f"2*{model} + FRANCE*hold + 4*({model})")
    assert profile.policies == (read(model), read("hold"))
    assert profile.is_mixed
    assert not read_profile("3*dove + 4*dove").is_mixed


def test_unnamed_policies_of_one_kind_are_told_apart():
    seats = read_profile(dict.fromkeys(POWERS, DovePolicy(share=0.1)) | {"ITALY": DovePolicy(share=0.9)}).seats(POWERS)
    assert seats["FRANCE"].text == seats["TURKEY"].text
    assert seats["ITALY"].text == f"{seats['FRANCE'].text} #2"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("4*dove + hodl", UnknownAgentError, "at 'hodl'"),
        ("0*dove + 7*hold", ProfileError, "give 1 to 99 seats"),
        ("FRANCE*dove + france*hold + 5*dove", ProfileError, "FRANCE is named twice"),
        ("4*dove + 4*hold", ProfileError, "seats for 8: give 7, one for each of AUSTRIA"),
        ("FRANC*dove + 6*hold", UnknownPowerError, "did you mean 'FRANCE'"),
        ({1: "dove"}, ProfileError, "give power -> policy"),
        ("2*dove +" * 5000, UnknownAgentError, "give 10,000 at most"),
    ],
)
def test_a_bad_profile_is_told(given, error, words):
    with pytest.raises(error, match=words):
        read_profile(given).seats(POWERS)
    with pytest.raises(ProfileError, match="fixxed"):
        Profile(((None, read("dove")),)).seats(POWERS, seating="fixxed")


@pytest.mark.parametrize(
    "odd",
    [
        *(None, [10**5000], {"FRANCE": "dove"}, "mix:", "mix:hold=1/2", "mix:hold=1/2,dove", "mix:hold=0,dove=1"),
        *("mix:hold=1/2,FairBot=1/2", "mix:" + ",".join(["FairBot=1/101"] * 101)),
    ],
)
def test_what_is_no_policy_at_all(odd):
    with pytest.raises(UnknownAgentError):
        specs.read(odd).make()


def test_a_mix_draws_one_policy_a_game_with_its_chance():
    policy = agents.make("mix:hold=1/4,prosocial=3/4")
    drawn = []
    for seed in range(200):
        policy.reset("PLAYERA", seed)
        drawn.append(policy._drawn)
    assert abs(sum(drawn) / len(drawn) - 0.75) < 0.15
    policy.reset("PLAYERA", 0)
    assert policy._drawn == drawn[0]
