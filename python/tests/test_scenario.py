"""Scenarios: read, built, changed, written, and their mistakes."""

import pickle
from pathlib import Path

import pytest
from conftest import TEXT

import domio


def test_a_scenario_tells_what_it_is(host: domio.Scenario) -> None:
    assert host.domains == ["web", "batch1", "batch2"]
    assert (host.policy, host.seed, host.duration_s) == ("credit", 1, 0.4)
    assert host.overrides == []
    assert domio.Scenario.load("small-host").title == domio.scenarios()["small-host"]
    assert domio.Scenario.load("papers/ongaro2008/test3-orig").domains


def test_changes_give_another_scenario(host: domio.Scenario) -> None:
    changed = host.with_(**{"domain.web.weight": 512, "scheduler.policy": "credit2"})
    assert changed.policy == "credit2"
    assert changed.overrides == ["domain.web.weight = 512", 'scheduler.policy = "credit2"']
    assert host.policy == "credit"
    assert host.set({}) == host
    assert host.set({"seed": 3}) == host.with_(seed=3) != host
    assert len({host, host.set({}), host.with_(seed=3)}) == 2
    assert "domain.web.weight = 512" in repr(changed)


def test_a_scenario_is_built_in_code() -> None:
    built = domio.Scenario.build(
        title="built",
        run={"duration_ms": 400},
        scheduler={"policy": "credit"},
        domain=[
            {
                "name": "web",
                "workload": "on-off",
                "on": {"distribution": "exponential", "mean_ms": 3},
                "off": {"distribution": "exponential", "mean_ms": 5},
            },
            {"name": "batch-q", "task": [{"workload": "burn"}, {"workload": "idle"}]},
        ],
    )
    assert built.domains == ["web", "batch-q"]
    assert built.title == "built"
    again = domio.Scenario.from_toml(built.to_toml())
    assert again == built


def test_a_changed_scenario_is_written_and_read_again(host: domio.Scenario) -> None:
    assert host.to_toml() == TEXT
    changed = host.with_(**{"domain.web.weight": 512})
    again = domio.Scenario.from_toml(changed.to_toml())
    assert "weight = 512" in again.text
    assert domio.run(again).json["domains"] == domio.run(changed).json["domains"]
    with pytest.raises(domio.DomioError, match="of its own"):
        host.with_(**{"domain.batch2.weight": 64}).to_toml()


def test_a_scenario_goes_to_other_processes(host: domio.Scenario) -> None:
    changed = host.set({"scheduler.policy": "credit2"}).set({"scheduler.policy": "credit"})
    again = pickle.loads(pickle.dumps(changed))
    assert again == changed
    assert again.overrides == changed.overrides


def test_mistakes_are_those_of_the_command_line(tmp_path: Path, cli) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("burn", "burnn").replace("count = 2", "count = 0"))
    with pytest.raises(domio.ScenarioError) as raised:
        domio.Scenario.load(path)
    told = cli("run", str(path), check=False)
    assert told.returncode == 2
    assert told.stderr.strip() == f"error: {raised.value}"
    assert [p["code"] for p in raised.value.problems]
    assert len(raised.value.problems) == 2
    with pytest.raises(domio.DomioError, match="near matches: small-host"):
        domio.Scenario.load("smal-host")


def test_a_bad_change_is_told_with_its_text(host: domio.Scenario) -> None:
    with pytest.raises(domio.ScenarioError, match="did you mean `weight`"):
        host.with_(**{"domain.web.wieght": 512})
    with pytest.raises(ValueError, match="finite"):
        host.with_(**{"run.duration_s": float("nan")})
    with pytest.raises(TypeError, match="expected text, a number"):
        host.with_(**{"run.duration_s": object()})
    with pytest.raises(TypeError, match="expected a domio.Scenario"):
        domio.run(3)  # type: ignore[arg-type]
