"""Policies of the user: imported classes, Python objects; and what `print` shows of policies."""

import functools
import inspect
import sys
import threading

import pytest

import agents
import modal_env
import welfare_env
from agents import HoldPolicy, specs
from agents.lm.models.scripted import ScriptedModel
from agents.lm.player.policy import LMPolicy
from welfare_env import UnknownAgentError

MIRROR = """
from agents import HoldPolicy


class Mirror(HoldPolicy):
    def __init__(self, k=1, mode="plain"):
        self.k, self.mode = k, mode


def patient(k=7):
    return Mirror(k, "patient")
"""


class Holder(HoldPolicy):
    """Cannot be made without its argument."""

    def __init__(self, lock):
        self.lock = lock


class Anything(HoldPolicy):
    def __init__(self, **options):
        self.options = options


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    (tmp_path / "mirror.py").write_text(MIRROR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mirror", raising=False)
    import mirror

    yield mirror
    del sys.modules["mirror"]


@pytest.mark.parametrize(
    ("options", "k", "mode", "written"),
    [
        ("", 1, "plain", ""),
        (",mode=tit-for-tat , k = -2", -2, "tit-for-tat", ",k=-2,mode=tit-for-tat"),
        (",k=.50", 0.5, "plain", ",k=0.5"),
    ],
)
def test_options_of_an_imported_class(mirror, options, k, mode, written):
    policy = agents.make(f"exploiter:nice=(import:mirror.Mirror{options}),attack=dumbbot").nice
    assert (policy.k, type(policy.k), policy.mode) == (k, type(k), mode)
    assert agents.canonical(f"import:mirror.Mirror{options}") == f"import:mirror.Mirror{written}"
    assert agents.make(f"import:{__name__}.Anything,k=3").options == {"k": 3}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("mirror.Mirror(k=3)", "such as import:mymodule.MyPolicy"),
        ("mirror.Miror", "did you mean 'Mirror'"),
        ("mirror.Mirror,k=1,k=2", "at 'k=2': give key=value, each key once"),
        ("mirror.Mirror,mod=x", "'mod'; its options are (k=1, mode='plain')"),
        ("os.abort", "os.abort"),  # what is no policy is not called
    ],
)
def test_faults_in_an_import(mirror, spec, fault):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(f"import:{spec}")
    assert "agent spec 'import:" in str(caught.value)
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import no_such_thing", r"ModuleNotFoundError: No module named 'no_such_thing' \(.*broken.py, line 2\)"),
        ("def f(:", r"SyntaxError: .* \(.*broken.py, line 2\)"),
        ("class Mine:\n    reset = act = print\n    def __init__(self): exit(2)", r"SystemExit: 2 \(.*line 4\)"),
        ("def __getattr__(name): raise SystemExit(name)", r"SystemExit: .* \(.*broken.py, line 2\)"),
        ("class Odd(Exception):\n    def __str__(self): raise self\nraise Odd", r"Odd.* \(.*broken.py, line 4\)"),
    ],
)
def test_what_comes_out_of_a_module_of_ones_own(code, fault, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    (tmp_path / "broken.py").write_text(f"import agents\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownAgentError, match=rf"(?s)'import:broken.Mine': .*{fault}"):
        agents.make("import:broken.Mine")


def test_an_interruption_is_none_of_ours(tmp_path, monkeypatch):
    (tmp_path / "stopped.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        agents.make("import:stopped.Mine")


def test_the_files_of_a_spec(mirror, tmp_path):
    nested = "exploiter:nice=(import:mirror.Mirror),attack=(rl:attacker)"
    own, *checkpoint = specs.named_files(nested)
    assert str(own) == mirror.__file__
    assert all(path.is_file() for path in checkpoint)
    for spec in ("import:nowhere_at_all.Mine", "rl:\0", "rl:" + "x" * 5000, "lm:scripted/stub,effort=import:a.B"):
        assert specs.named_files(spec) == []
    with pytest.raises(UnknownAgentError, match="ModuleNotFoundError"):
        specs.named_files("import:mirror.inner.Mine")


def test_a_class_that_can_be_imported_has_a_name(mirror):
    spec = specs.read(mirror.Mirror)
    assert spec == specs.read("import:mirror.Mirror")
    assert agents.canonical(mirror.Mirror) == spec.text == "import:mirror.Mirror"
    assert isinstance(agents.make(mirror.Mirror), mirror.Mirror)
    assert specs.read(HoldPolicy).text == "import:agents.scripted.hold.HoldPolicy"


def test_what_has_no_name(mirror):
    class Local(HoldPolicy):
        pass

    instance = mirror.Mirror(k=5)
    makers = {
        f"class {__name__}": Local,
        f"factory {__name__}": lambda: mirror.Mirror(k=3),
        "factory mirror.patient": mirror.patient,
        "factory functools.partial": functools.partial(mirror.Mirror, 2),
        "instance of mirror.Mirror": instance,
    }
    for text, maker in makers.items():
        spec = specs.read(maker)
        assert not spec.is_named
        assert spec.text.startswith(text)
        assert spec == specs.read(maker) == specs.read(spec)
        assert isinstance(spec.make(), HoldPolicy)
        with pytest.raises(UnknownAgentError):
            agents.canonical(maker)
    assert specs.read(instance) != specs.read(mirror.Mirror(k=5))
    copied = agents.make(instance)
    assert copied is not instance
    assert copied.k == 5


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (lambda: 5, "makes a int, which is not a policy"),
        (lambda: exit(2), r"SystemExit: 2 \(.*test_policy_objects.py, line"),
        (Holder(threading.Lock()), r"instance of .*Holder': cannot be made: TypeError: cannot pickle"),
    ],
)
def test_objects_that_make_no_policy(policy, fault):
    with pytest.raises(UnknownAgentError, match=fault):
        agents.make(policy)


SHOWN = {
    "dove:share=0.5": "DovePolicy(share=0.5)",
    "exploiter:nice=dove,attack=dumbbot,years=2": "ExploiterPolicy(nice=DovePolicy(), attack=DumbBotPolicy(), years=2)",
    "plan:budget=3": "PlannerPolicy(budget=3, model=DovePolicy())",
    "mix:dove=1/4,hold=3/4": "MixturePolicy(0.25: DovePolicy(), 0.75: HoldPolicy())",
}


@pytest.mark.parametrize("spec", SHOWN)
def test_a_policy_shows_its_options(spec):
    assert repr(agents.make(spec)) == SHOWN[spec]


def test_own_policies_do_too():
    class Mirror(agents.ScriptedPolicy):
        def __init__(self, k=3, *, unseen=1, **rest):
            self.k = k

    assert repr(Mirror()) == "Mirror()"
    assert repr(Mirror(k=4, unseen=2)) == "Mirror(k=4)"
    assert repr(LMPolicy(ScriptedModel([], name="stub"))) == "LMPolicy('scripted/stub')"


@pytest.mark.parametrize("package", [agents, modal_env, welfare_env])
def test_no_public_class_is_printed_as_an_address(package):
    """Protocols and environments aside, whose wrappers print themselves."""
    classes = [getattr(package, name) for name in package.__all__]
    plain = [each.__name__ for each in classes if inspect.isclass(each) and each.__repr__ is object.__repr__]
    assert [name for name in plain if not getattr(getattr(package, name), "_is_protocol", False)] == []
