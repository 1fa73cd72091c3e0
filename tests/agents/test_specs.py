"""Policies from text."""

import sys
import time

import pytest

import agents
from agents import DovePolicy, DumbBotPolicy, ExploiterPolicy, HoldPolicy, ProsocialPolicy, RandomPolicy, specs
from agents.specs import AGENTS, usages
from agents.specs.text_span import DEEPEST, LONGEST
from welfare_env import UnknownAgentError


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("random", RandomPolicy),
        ("hold", HoldPolicy),
        ("prosocial", ProsocialPolicy),
        ("dumbbot", DumbBotPolicy),
        ("dove", DovePolicy),
        ("(dove)", DovePolicy),
        (" exploiter : nice = dove , attack = (random) ", ExploiterPolicy),
    ],
)
def test_names(spec, kind):
    assert type(agents.make(spec)) is kind


def test_options_reach_the_policy():
    policy = agents.make("exploiter:nice=(dove:share=0.5),attack=dumbbot,units=8,years=4,centers=12,last_years=1")
    assert isinstance(policy.nice, DovePolicy)
    assert isinstance(policy.attack, DumbBotPolicy)
    assert policy.nice.share == 0.5
    assert (policy.units, policy.years, policy.centers, policy.last_years) == (8, 4, 12, 1)


def test_defaults_are_the_papers():
    policy = agents.make("exploiter:nice=prosocial,attack=dumbbot")
    assert (policy.units, policy.centers) == (10, 10)
    assert (policy.years, policy.last_years) == (None, None)  # as the length of the game has it


def test_specs_nest():
    policy = agents.make("exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot")
    assert isinstance(policy.nice, ExploiterPolicy)
    assert isinstance(policy.nice.attack, RandomPolicy)
    assert isinstance(policy.attack, DumbBotPolicy)


@pytest.mark.parametrize(
    ("spec", "place", "message"),
    [
        (
            "",
            "at its end",
            "known are best-reply, campaign, deterrent, dove, dumbbot, exploiter, fortress, frontier, grim, ",
        ),
        ("dovve", "at 'dovve' (character 1)", "unknown agent"),
        ("lm", "at its end", "PROVIDER/MODEL"),
        ("lm:openai", "at 'openai' (character 4)", "PROVIDER/MODEL"),
        ("lm:gpt/x", "at 'gpt/x' (character 4)", "give one of openai/NAME"),
        ("lm:scripted/stub,speed=1", "at 'speed=1' (character 18)", "takes temperature, top_p"),
        ("lm:scripted/stub,flavour=nice", "at 'nice' (character 26)", "give one of wd, sd"),
        ("lm:scripted/stub,ablate=no_fun", "at 'no_fun' (character 25)", "no_reasoning"),
        ("lm:scripted/stub,summariser=/me", "at '/me' (character 29)", "self, none"),
        ("lm:scripted/stub,temperature=hot", "at 'hot' (character 30)", "give a number"),
        ("lm:scripted/stub,temperature=3", "at 'temperature=3' (character 18)", "0 to 2"),
        ("lm:scripted/stub,max_tokens=0", "at 'max_tokens=0' (character 18)", "1 or more"),
        ("lm:scripted/stub,base_url=http://x", "at 'base_url=http://x' (character 18)", "has no setting 'base_url'"),
        ("lm:openai/x,base_url=x", "at 'x' (character 22)", "give an address"),
        ("lm:openai/x,prices=/no/file", "at 'prices=/no/file' (character 13)", "not a table of prices"),
        ("exploiter:nice=dove,units=1,attack=(lm:openai/x,timeout=0)", "at 'timeout=0' (character 49)", "timeout 0.0"),
        ("exploiter:nice=(lm:openai/x,api=soap),attack=dove", "at 'soap' (character 33)", "chat, responses"),
        ("exploiter:nice=dove,attack=gandhi", "at 'gandhi' (character 28)", "unknown agent"),
        ("exploiter:nice=(exploiter:nice=dove,attack=x),attack=dove", "at 'x' (character 44)", "unknown agent"),
        ("exploiter", "at its end", "nice and attack missing"),
        ("exploiter:nice=dove", "at 'nice=dove' (character 11)", "attack missing"),
        ("exploiter:nice=(dove,attack=dove", "at '(dove,attack=dove' (character 16)", "not closed"),
        ("exploiter:nice=dove),attack=dove", "at ')' (character 20)", "not opened"),
        ("exploiter:nice=dove,nice=dove,attack=dove", "at 'nice=dove' (character 21)", "twice"),
        ("exploiter:nice=dove,attack=dove,units=-1", "at '-1' (character 39)", "whole number"),
        ("exploiter:nice=dove,attack=dove,units=٣", "at '٣' (character 39)", "whole number"),
        ("random:speed=1", "at 'speed=1' (character 8)", "takes no options"),
        ("dove:share", "at 'share' (character 6)", "key=value"),
        ("dove:share=much", "at 'much' (character 12)", "give a number"),
        ("dove:share=0", "at 'share=0' (character 6)", "above 0"),
        ("dove:share=nan", "at 'share=nan' (character 6)", "above 0"),
    ],
)
def test_faults_are_named_and_placed(spec, place, message):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(spec)
    assert f"agent spec {spec!r}, {place}" in str(caught.value)
    assert message in str(caught.value)


def test_a_fault_in_a_long_spec_has_its_place_and_a_short_message():
    with pytest.raises(UnknownAgentError, match=r"\(character 39\): give a whole number") as caught:
        agents.make(f"exploiter:nice=dove,attack=dove,units={'9' * 5000}")
    assert str(caught.value).startswith("agent spec 'exploiter:nice=dove,attack=dove,units=99")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        (
            "exploiter:nice=lm:openai/x,temperature=0.5,attack=dumbbot",
            "nice=(lm:openai/x,temperature=...)",
        ),
        ("exploiter:attack=dumbbot,nice=lm:openai/x,api=chat", "nice=(lm:openai/x,api=...)"),
        ("exploiter:nice=dove,attack=dumbbot,share=0.5", "nice=(dove:share=...)"),
        ("exploiter:nice=exploiter:nice=dove,attack=random,attack=dumbbot", "put all of it in parentheses"),
        ("lm:openai/x,ablate=no_reasoning,no_examples", "ablate=no_reasoning+no_examples"),
    ],
)
def test_a_comma_in_the_wrong_place_is_explained(spec, hint):
    with pytest.raises(UnknownAgentError) as caught:
        agents.canonical(spec)
    assert hint in str(caught.value)


SECRET = "hunter2"  # what no error may show


@pytest.mark.parametrize("read", [agents.make, agents.canonical])
@pytest.mark.parametrize(
    "spec",
    [
        "lm:openai/x,base_url=http://user:hunter2@host/v1",
        "lm:openai/x,base_url=https://hunter2@host/v1",
        "lm:openai/x,base_url=http://user:hun,hunter2@host/v1",
        "lm:openai/x,base_url=http://user:(hunter2)@host/v1",
        "lm:openai/x,base_url=http://host/v1?api_key=hunter2",
        "lm:openai/x,base_url=http://user:hunter2@host:port/v1",
        "lm:openai/x,key_variable=sk-hunter2",
        "lm:openai/x,key_variable=sk hunter2,flavour=no",
        "lm:openai/x,key=hunter2",
        "lm:openai/x,api_key=sk-proj-hunter2-99",
        "lm:openai/x,effort=hot,top_p=sk-hunter2x",
        "exploiter:nice=(lm:openai/x,base_url=http://user:hunter2@host/v1),attack=gandhi",
        "exploiter:attack=gandhi,nice=(lm:openai/x,base_url=http://user:hunter2@host/v1)",
        "exploiter:attack=gandhi,nice=(lm:openai/x,key_variable=sk-hunter2)",
    ],
)
def test_no_error_quotes_a_password_or_a_key(spec, read):
    with pytest.raises(UnknownAgentError) as caught:
        read(spec)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_the_models_in_a_spec():
    spec = (
        "exploiter:nice=(lm:openai/x,base_url=http://h/v1,summariser=openai/y),attack=(lm:anthropic/z,summariser=none)"
    )
    assert specs.named_models(spec) == (("openai/x", "http://h/v1"), ("openai/y", "http://h/v1"), ("anthropic/z", ""))
    other = "lm:openai/x,base_url=http://h/v1,summariser=anthropic/z"
    assert specs.named_models(other) == (("openai/x", "http://h/v1"), ("anthropic/z", ""))
    assert specs.named_models("exploiter:nice=dove,attack=dumbbot") == ()
    assert specs.asks_language_models(other)
    assert not specs.asks_language_models("dove")


@pytest.mark.parametrize("read", [agents.make, agents.canonical])
@pytest.mark.parametrize("spec", [None, 5, ["dove"]])
def test_only_text_is_a_spec(spec, read):
    with pytest.raises(UnknownAgentError, match="give a string"):
        read(spec)


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        ("dove", "dove"),
        ("(dove)", "dove"),
        (" ( dove : share = .50 ) ", "dove:share=0.5"),
        ("exploiter:nice=(prosocial),attack=dumbbot", "exploiter:nice=prosocial,attack=dumbbot"),
        ("exploiter: attack=dumbbot, nice=prosocial", "exploiter:nice=prosocial,attack=dumbbot"),
        (
            "exploiter:last_years=01,units=8,nice=hold,attack=hold",
            "exploiter:nice=hold,attack=hold,units=8,last_years=1",
        ),
        ("exploiter:nice=dove:share=1,attack=hold", "exploiter:nice=(dove:share=1.0),attack=hold"),
        (
            "(exploiter:attack=(dumbbot),nice=(exploiter:attack=random,nice=(dove)))",
            "exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot",
        ),
    ],
)
def test_one_way_to_write_a_spec(spec, written):
    assert agents.canonical(spec) == written
    assert agents.canonical(written) == written
    assert type(agents.make(written)) is type(agents.make(spec))


def test_the_one_way_to_write_a_spec_names_faults_too():
    with pytest.raises(UnknownAgentError, match=r"at 'gandhi' \(character 28\): unknown agent"):
        agents.canonical("exploiter:nice=dove,attack=gandhi")


def test_the_package_tells_of_every_policy():
    assert all(f"``{name}" in agents.__doc__ for name in AGENTS)


def test_usages_tell_what_must_be_given():
    told = usages()
    assert [usage.partition(":")[0] for usage in told] == list(AGENTS)
    for usage in told:
        nested = "program:FairBot" if usage.startswith("best-reply") else "hold"
        given = {
            "SPEC": nested,
            "PROVIDER/MODEL": "scripted/stub",
            "MODULE.CLASS,KEY=VALUE,...": "agents.DovePolicy,share=0.5",
            "PROGRAM": "FairBot",
            "SHARE,...": "1",
        }
        for word, example in given.items():
            usage = usage.replace(word, example)
        has_file = usage.startswith(("rl:", "frontier:"))  # which other tests make
        (agents.canonical if has_file else agents.make)(usage)


def nested(depth: int) -> str:
    return "best-reply:to=" * depth + "program:FairBot"


class TestLimits:
    """Text, depth and numbers are bounded before anything is made of them."""

    def test_the_longest_spec(self):
        assert agents.canonical("rl:" + "x" * (LONGEST - 3)).endswith("x")
        with pytest.raises(UnknownAgentError, match=r"an agent spec of 10,001 characters: give 10,000 at most"):
            agents.canonical("rl:" + "x" * (LONGEST - 2))

    @pytest.mark.parametrize("read", [agents.make, agents.canonical, specs.named_models, specs.named_files])
    def test_the_deepest_spec(self, read):
        with pytest.raises(UnknownAgentError, match=r"more than 20 levels of nested specs"):
            read(nested(DEEPEST))
        with pytest.raises(UnknownAgentError, match=r"more than 20 levels of nested specs"):
            read("exploiter:attack=dove,nice=(" * 100 + "dove" + ")" * 100)

    def test_specs_as_deep_as_they_may_be(self):
        assert agents.canonical(nested(DEEPEST - 1)).count("(") == DEEPEST - 1

    @pytest.mark.parametrize("mark", ["(", ")", "[", "/", "//", "base_url=", "a*", ",", "=", ":", "\0", "\ud800"])
    @pytest.mark.parametrize("begin", ["", "dove:", "program:", "mix:", "rl:", "import:", "lm:", "exploiter:nice="])
    def test_marks_without_end(self, mark, begin):
        begun = time.perf_counter()
        with pytest.raises(UnknownAgentError):
            agents.make((begin + mark * LONGEST)[:LONGEST])
        assert time.perf_counter() - begun < 20  # it took minutes

    @pytest.mark.parametrize(
        "share", ["1e999999999", "1e-999999999", "1E+100", "9" * 41, "1/0", "1/00", "nan", "1_0", "٣"]
    )
    def test_shares_that_no_mix_needs(self, share):
        with pytest.raises(UnknownAgentError, match=r"is not a share: give a number such as 1/20 or 0\.05"):
            agents.canonical(f"mix:FairBot={share}")
        with pytest.raises(ValueError, match="is not a share"):
            agents.MixPolicy([("FairBot", share)])

    @pytest.mark.parametrize(
        ("share", "written"),
        [("1", "1"), ("1/20", "1/20"), (".05", "1/20"), ("5e-2", "1/20"), ("2.", "2"), ("+1/02", "1/2")],
    )
    def test_shares(self, share, written):
        assert agents.canonical(f"mix:FairBot={share}") == f"mix:FairBot={written}"

    def test_too_many_programs(self):
        text = ",".join(f"FairBot=1/{number}" for number in range(10_007, 10_107))
        with pytest.raises(UnknownAgentError, match="add up to"):
            agents.make(f"mix:{text}")
        with pytest.raises(UnknownAgentError, match="a mix of 101 programs: give 100 at most"):
            agents.make(f"mix:{text},FairBot=0")

    @pytest.mark.parametrize("number", ["1" * 41, "1_0", "٣", "0x1", "1e", "--1", "1,"])
    def test_numbers(self, number):
        with pytest.raises(UnknownAgentError):
            agents.canonical(f"dove:share={number}")

    @pytest.mark.parametrize(
        "name", ["x" * 5000, "\0", "\ud800", "x" * 300 + "/y", "/dev/null", "a" * 200 + "/" + "b" * 4000]
    )
    def test_paths_that_there_cannot_be(self, name):
        with pytest.raises(UnknownAgentError, match="no checkpoint"):
            agents.make(f"rl:{name}")
        assert specs.named_files(f"rl:{name}") == []


@pytest.mark.parametrize(
    "path", ["a", "(a)", "((a))", "a,b", "(a,b)", "((a,b))", "(a)(b)", "(a)/(b)", "a (b)", "()", "a,(b),c"]
)
def test_a_path_is_read_as_it_is_written(path):
    written = agents.canonical(f"rl:({path})")
    assert specs.read(written).checkpoints == (path,)
    assert agents.canonical(written) == written


@pytest.mark.parametrize("spec", ["(dove)(dove)", "((dove)", "(dove))", ")dove(", "()"])
def test_parentheses_that_do_not_belong_together(spec):
    with pytest.raises(UnknownAgentError):
        agents.make(spec)


class TestOwnPolicies:
    """A policy of the user's, by the module and the class."""

    @pytest.fixture
    def module(self, tmp_path, monkeypatch):
        path = tmp_path / "own_players.py"
        path.write_text("from agents import HoldPolicy\n\n\nclass Mine(HoldPolicy):\n    pass\n\n\nother = 5\n")
        monkeypatch.syspath_prepend(tmp_path)
        return path

    def test_is_imported(self, module):
        policy = agents.make("exploiter:nice=(import:own_players.Mine),attack=dumbbot")
        assert type(policy.nice).__name__ == "Mine"
        assert specs.named_files("exploiter:nice=(import:own_players.Mine),attack=dumbbot") == [module]

    @pytest.mark.parametrize(
        ("path", "fault"),
        [
            ("own_players", "give a module and a class"),
            ("own_players.Yours", "has no Yours"),
            ("own_players.other", "int: it is not a policy"),
            ("no_such_module.Mine", "ModuleNotFoundError"),
            ("collections.OrderedDict", "not a policy"),
        ],
    )
    def test_faults_point_at_the_place(self, module, path, fault):
        with pytest.raises(UnknownAgentError, match=f"character 8.*{fault}"):
            agents.make(f"import:{path}")

    @pytest.mark.parametrize(
        "path",
        [
            *("sys.exit", "os.abort", "os._exit", "builtins.exit", "subprocess.Popen", "antigravity.x", "this.s"),
            *("os.path.join", "idlelib.idle.main", "collections.OrderedDict", "unittest.mock.MagicMock"),
        ],
    )
    @pytest.mark.parametrize("read", [agents.make, specs.named_files])
    def test_pythons_own_modules_are_not_even_imported(self, path, read):
        before = set(sys.modules)
        with pytest.raises(UnknownAgentError, match=r"a module of the standard library, not a policy\. Give a class"):
            read(f"import:{path}")
        assert set(sys.modules) == before

    def test_a_module_of_ones_own_may_be_called_as_one_of_pythons(self, tmp_path, monkeypatch):
        (tmp_path / "xdrlib.py").write_text("from agents import HoldPolicy as Mine\n")
        (tmp_path / "turtledemo.py").write_text("from agents import HoldPolicy as Mine\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "turtledemo", raising=False)
        assert isinstance(agents.make("import:turtledemo.Mine"), HoldPolicy)
        monkeypatch.delitem(sys.modules, "turtledemo")

    @pytest.mark.parametrize(
        ("code", "fault"),
        [
            ("raise SystemExit(3)", r"SystemExit: 3 \(.*broken.py, line 2\)"),
            ("import sys; sys.exit()", r"SystemExit \(.*broken.py, line 2\)"),
            ("1 / 0", r"ZeroDivisionError: division by zero \(.*broken.py, line 2\)"),
            ("import no_such_thing", r"ModuleNotFoundError: No module named 'no_such_thing' \(.*broken.py, line 2\)"),
            ("from agents import Nobody", r"ImportError: .*Nobody.* \(.*broken.py, line 2\)"),
            ("def f(:", r"SyntaxError: .* \(.*broken.py, line 2\)"),
            ("def f(): f()\nf()", r"RecursionError: .* \(.*broken.py, line 2\)"),
            ("class Mine:\n    reset = act = print\n    def __init__(self): exit(2)", r"SystemExit: 2 \(.*line 4\)"),
            ("class Mine:\n    reset = act = print\n    def __init__(self): {}[5]", r"KeyError: 5 \(.*line 4\)"),
            ("class Mine:\n    reset = act = print\n    def __init__(self, k): pass", r"TypeError: .*'k'"),
            (
                "class Mine:\n    reset = act = print\n    def __new__(cls): return 5",
                r"makes a int: it is not a policy",
            ),
            ("class Mine:\n    reset = print", r"give a class that has reset.*this is a class without act"),
            ("class Mine:\n    reset = act = 5", r"give a class that has reset.*this is a class without reset and act"),
            ("def Mine(): raise SystemExit", r"give a class that has reset.*this is a function: it is not a policy"),
            ("Mine = exit", r"give a class that has reset.*: it is not a policy"),
            ("from agents import Policy as Mine", r"TypeError: Protocols cannot be instantiated"),
            ("def __getattr__(name): raise SystemExit(name)", r"SystemExit: .* \(.*broken.py, line 2\)"),
            ("class Odd(Exception):\n    def __str__(self): raise self\nraise Odd", r"Odd.* \(.*broken.py, line 4\)"),
        ],
    )
    def test_what_comes_out_of_a_module_of_ones_own(self, code, fault, tmp_path, monkeypatch):
        monkeypatch.delitem(sys.modules, "broken", raising=False)
        (tmp_path / "broken.py").write_text(f"import agents\n{code}\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(UnknownAgentError, match=rf"(?s)'broken.Mine' \(character 8\): .*{fault}"):
            agents.make("import:broken.Mine")

    def test_an_interruption_is_none_of_ours(self, tmp_path, monkeypatch):
        (tmp_path / "stopped.py").write_text("raise KeyboardInterrupt\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            agents.make("import:stopped.Mine")

    def test_a_module_that_is_misspelt(self, tmp_path, monkeypatch):
        (tmp_path / "cautious.py").write_text("")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UnknownAgentError, match=r"'cautios' \(did you mean 'cautious'\?\).*no cautios.py in this"):
            agents.make("import:cautios.Cautious")

    def test_files_of_a_module_that_there_is_not(self, module):
        assert specs.named_files("import:nowhere_at_all.Mine") == []
        with pytest.raises(UnknownAgentError, match="ModuleNotFoundError"):
            specs.named_files("import:own_players.inner.Mine")

    def test_text_that_only_looks_like_a_module_is_no_file(self):
        assert specs.named_files("lm:scripted/stub,effort=import:agents.scripted.hold.HoldPolicy") == []
