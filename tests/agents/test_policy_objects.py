"""Policies as Python objects, with options for imported classes, and from other distributions."""

import functools
import sys
import threading

import pytest

import agents
from agents import HoldPolicy, specs
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
        (",k=3", 3, "plain", ",k=3"),
        (",mode=tit-for-tat , k = -2", -2, "tit-for-tat", ",k=-2,mode=tit-for-tat"),
        (",k=.50", 0.5, "plain", ",k=0.5"),
        (",k=1e3", 1000.0, "plain", ",k=1000.0"),
    ],
)
def test_options_of_an_imported_class(mirror, options, k, mode, written):
    policy = agents.make(f"import:mirror.Mirror{options}")
    assert (policy.k, type(policy.k), policy.mode) == (k, type(k), mode)
    assert agents.canonical(f"import:mirror.Mirror{options}") == f"import:mirror.Mirror{written}"


@pytest.mark.parametrize(
    ("options", "place", "fault"),
    [
        ("k", "'k' (character 22)", "key=value, after commas: import:mirror.Mirror,key=value"),
        ("k=", "at its end", "a whole number"),
        ("k=1,k=2", "'k=2' (character 26)", "twice"),
        ("k=(dove)", "'(dove)' (character 24)", "or a word"),
        ("k=1e999", "'1e999' (character 24)", "a number"),
        ("j=1", "'mirror.Mirror' (character 8)", "no option 'j': it takes k, mode, each as key=value"),
        ("mod=x", "'mirror.Mirror' (character 8)", "no option 'mod' (did you mean 'mode'?): it takes k, mode"),
        ("2k=1", "'2k=1' (character 22)", "key=value"),
    ],
)
def test_faults_in_the_options_of_an_imported_class(mirror, options, place, fault):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(f"import:mirror.Mirror,{options}")
    assert place in str(caught.value)
    assert fault in str(caught.value)


@pytest.mark.parametrize("path", ["mirror:Mirror", "mirror.Mirror(k=3)", "mirror.Mirror:k=3", "mirror", "mirror,k=3"])
def test_a_wrong_path_shows_a_right_one_with_options(path):
    with pytest.raises(
        UnknownAgentError, match=r"such as import:mymodule\.MyPolicy, with options after commas: .*,k=3"
    ):
        agents.make(f"import:{path}")


def test_a_file_in_place_of_a_class_and_a_path_without_import(mirror):
    with pytest.raises(UnknownAgentError, match=r"has no py\. Give import:mymodule\.MyPolicy"):
        agents.make("import:mirror.py")
    with pytest.raises(UnknownAgentError, match=r"did you mean 'import:mirror\.Mirror,k=3'\?"):
        agents.make("mirror.Mirror,k=3")


def test_a_class_that_takes_no_options_or_any():
    with pytest.raises(UnknownAgentError, match="no option 'k': it takes no options"):
        agents.make("import:agents.HoldPolicy,k=3")
    assert agents.make(f"import:{__name__}.Anything,k=3").options == {"k": 3}


class Anything(HoldPolicy):
    def __init__(self, **options):
        self.options = options


def test_nested_options_ask_for_parentheses(mirror):
    policy = agents.make("exploiter:nice=(import:mirror.Mirror,k=3),attack=dumbbot")
    assert policy.nice.k == 3
    with pytest.raises(UnknownAgentError, match=r"nice=\(import:mirror.Mirror,k=...\)"):
        agents.make("exploiter:nice=import:mirror.Mirror,k=3,attack=dumbbot")


def test_a_class_that_can_be_imported_is_named(mirror):
    spec = specs.read(mirror.Mirror)
    assert spec.is_named
    assert agents.canonical(mirror.Mirror) == spec.text == "import:mirror.Mirror"
    assert spec == specs.read("import:mirror.Mirror")
    assert [str(path) for path in specs.named_files(mirror.Mirror)] == [mirror.__file__]
    assert isinstance(agents.make(mirror.Mirror), mirror.Mirror)


def test_what_has_no_name(mirror):
    class Local(HoldPolicy):
        pass

    instance = mirror.Mirror(k=5)
    makers = {
        "class test_policy_objects": Local,
        "factory test_policy_objects": lambda: mirror.Mirror(k=3),
        "factory mirror.patient": mirror.patient,
        "factory functools.partial": functools.partial(mirror.Mirror, 2),
        "instance of mirror.Mirror": instance,
    }
    for text, maker in makers.items():
        spec = specs.read(maker)
        assert not spec.is_named
        assert text.split(" ")[0] in spec.text
        assert text.split(".")[-1].split("_")[-1] in spec.text
        assert specs.read(spec) is spec
        assert spec == specs.read(maker)
        assert isinstance(spec.make(), HoldPolicy)
        with pytest.raises(UnknownAgentError, match="it has no name"):
            agents.canonical(maker)
    assert specs.read(instance) != specs.read(mirror.Mirror(k=5))
    copied = agents.make(instance)
    assert copied is not instance
    assert copied.k == 5


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (lambda: 5, "makes a int: it is not a policy"),
        (lambda: HoldPolicy, "makes a type: it is not a policy"),
        (lambda k: HoldPolicy(), "TypeError: .*'k'"),
        (lambda: exit(2), r"SystemExit: 2 \(.*test_policy_objects.py, line"),
        (Holder(threading.Lock()), r"^agent instance of .*Holder: cannot be made: TypeError: cannot pickle"),
        (dict, "a module of the standard library, not a policy"),
    ],
)
def test_objects_that_make_no_policy(policy, fault):
    with pytest.raises(UnknownAgentError, match=fault):
        agents.make(policy)


@pytest.mark.parametrize("odd", [None, 5, [10**5000], ["dove"], {"FRANCE": "dove"}, b"dove"])
def test_what_is_no_policy_at_all(odd):
    with pytest.raises(UnknownAgentError, match=r"give a string such as .*, or a class, a factory or an instance"):
        specs.read(odd)


def test_a_spec_tells_what_is_in_it():
    spec = specs.read("exploiter:nice=(lm:scripted/stub),attack=(rl:somewhere)")
    assert spec.models == (("scripted/stub", ""),)
    assert spec.checkpoints == ("somewhere",)
    assert hash(spec) == hash(specs.read(spec.text))
    with pytest.raises((AttributeError, TypeError)):
        spec.text = "dove"


# Other distributions


@pytest.fixture
def install(mirror, tmp_path, monkeypatch):
    """Puts a distribution with entry points on the path, as pip would write it."""

    def installed(distribution, *points):
        folder = tmp_path / distribution
        info = folder / f"{distribution}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[welfare_env.policies]\n" + "\n".join(points) + "\n")
        monkeypatch.syspath_prepend(folder)

    return installed


def test_policies_of_other_distributions(install, mirror):
    install("western", "outlaw = mirror:Mirror", "patient = mirror:patient")
    assert agents.make("outlaw").k == 1
    policy = agents.make("exploiter:nice=(outlaw:mode=stern,k=3),attack=patient")
    assert (policy.nice.k, policy.nice.mode, policy.attack.k) == (3, "stern", 7)
    assert agents.canonical(" outlaw : mode=stern, k=3 ") == "outlaw:k=3,mode=stern"
    assert [path.name for path in specs.named_files("outlaw")] == ["mirror.py"]
    assert {"outlaw", "patient"} < set(specs.usages())
    with pytest.raises(UnknownAgentError, match=r"did you mean 'outlaw'.*known are best-reply,.* outlaw"):
        agents.make("outlw")


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        ("no_such_module:Mirror", "cannot be loaded: ModuleNotFoundError"),
        ("mirror:Miror", "cannot be loaded: AttributeError"),
        ("mirror:__name__", "is a str: it must be a class or a function"),
        ("builtins:dict", "makes a dict: it is not a policy"),
        ("builtins:open", "cannot be made: TypeError"),
    ],
)
def test_a_fault_names_the_distribution(install, point, fault):
    install("western", f"outlaw = {point}")
    with pytest.raises(UnknownAgentError) as caught:
        agents.make("outlaw")
    assert "agent spec 'outlaw', at 'outlaw' (character 1): the entry point outlaw = " in str(caught.value)
    assert f"{point} of western 1.0: " in str(caught.value)
    assert fault in str(caught.value)


def test_two_distributions_with_one_name(install):
    install("western", "outlaw = mirror:Mirror")
    install("eastern", "outlaw = mirror:patient")
    with pytest.raises(UnknownAgentError, match=r"2 distributions have it: .*western 1.0.*eastern 1.0"):
        agents.make("outlaw")


def test_a_name_of_ours_stays_ours(install):
    install("western", "hold = mirror:Mirror")
    assert type(agents.make("hold")) is HoldPolicy
    assert specs.usages().count("hold") == 1


def test_a_policy_of_ours_is_named_by_its_class():
    assert specs.read(HoldPolicy).text == "import:agents.scripted.hold.HoldPolicy"
