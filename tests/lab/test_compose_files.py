"""The compose files as they are written: what holds of them without an engine."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.containers.project import BASE, CLUSTER, OLD
from lab.paths import PACKAGE_JSON, RESTATE_TOML, ROOT
from services.identity import make
from services.settings import Settings
from tools import TOOLS

ONE_SHOT = {"owner", "register"}
"""They do what they are for and end."""
OURS = "pawl:${PAWL_RELEASE:-local}"
SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)
VARIABLE = re.compile(r"^\$\{(\w+)")
LOOPBACK = re.compile(r"^127\.0\.0\.1:\$\{PAWL_\w+:-\d+\}:\d+$")


class Loader(yaml.SafeLoader):
    """Knows the tags with which an override takes the place of what it lies over."""


def _in_its_place(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    match node:
        case yaml.SequenceNode():
            return loader.construct_sequence(node, deep=True)
        case yaml.MappingNode():
            return loader.construct_mapping(node, deep=True)
        case _:
            return None


for tag in ("!override", "!reset"):
    Loader.add_constructor(tag, _in_its_place)


def read(name: str) -> dict[str, Any]:
    with (ROOT / name).open(encoding="utf-8") as file:
        return dict(yaml.load(file, Loader))


@pytest.fixture(scope="module")
def base() -> dict[str, Any]:
    return read(BASE)


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return read(CLUSTER)


def services(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from document["services"].items()


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()  # type: ignore[union-attr]
    return float(number) * (60 if unit == "m" else 1)


def test_the_server_is_the_official_image_in_the_version_of_package_json(base: dict[str, Any]) -> None:
    pinned = json.loads(PACKAGE_JSON.read_text())["dependencies"]["@restatedev/restate-server"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", pinned)
    images = {service["image"] for _, service in services(base)}
    assert images == {f"restatedev/restate:{pinned}", OURS}


def test_our_image_is_built_once_and_never_pulled(base: dict[str, Any], cluster: dict[str, Any]) -> None:
    ours = {name: service for name, service in services(base) if service["image"] == OURS}
    assert [name for name, service in ours.items() if "build" in service] == ["worker"]
    assert {service["pull_policy"] for service in ours.values()} == {"never"}
    assert not [name for name, service in services(cluster) if "build" in service or "image" in service]


def test_every_service_has_limits_and_no_right_that_it_does_not_need(base: dict[str, Any]) -> None:
    for name, service in services(base):
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] is True, name
        assert service["init"] is True, name
        assert "privileged" not in service, name
        assert service["logging"] == {"driver": "local"}, name


def test_only_what_hands_over_the_volume_runs_as_root_and_reaches_no_network(base: dict[str, Any]) -> None:
    roots = {name for name, service in services(base) if service["user"] != "10001:10001"}
    assert roots == {"owner"}
    owner = base["services"]["owner"]
    assert owner["network_mode"] == "none"
    assert owner["cap_add"] == ["CHOWN", "DAC_READ_SEARCH"]
    assert not [name for name, service in services(base) if "cap_add" in service and name != "owner"]


def test_ports_are_published_on_this_machine_only_and_can_be_set(base: dict[str, Any], cluster: dict[str, Any]) -> None:
    published = [
        port for document in (base, cluster) for _, service in services(document) for port in service.get("ports", ())
    ]
    assert len(published) == 8
    assert not [port for port in published if not LOOPBACK.match(port)]
    assert len({VARIABLE.match(port.split(":", 1)[1])[1] for port in published}) == 8  # type: ignore[index]


def test_the_workers_are_on_the_inner_network_and_publish_nothing(base: dict[str, Any]) -> None:
    assert base["networks"]["inside"] == {"internal": True}
    assert set(base["services"]["worker"]["networks"]) == {"inside", "outside"}
    assert {name for name, service in services(base) if "ports" in service} == {"restate", "receiver", "model"}


def test_there_is_no_secret_in_the_files(base: dict[str, Any], cluster: dict[str, Any]) -> None:
    """What is secret comes from the environment or a file; the worker says where it is missing."""
    set_here = {
        variable: str(value)
        for document in (base, cluster)
        for _, service in services(document)
        for variable, value in service.get("environment", {}).items()
    }
    secret = {variable: value for variable, value in set_here.items() if SECRET.search(variable)}
    assert secret == {"PAWL_MODEL_KEY": "${PAWL_MODEL_KEY:-}"}


def test_the_files_with_the_secrets_are_neither_committed_nor_in_the_image() -> None:
    private = {"/.env", "/restate.env", "/secrets/", "/docker-compose.override.yml"}
    assert private | {"/restate-backup*", "/restate-before/"} <= set((ROOT / ".gitignore").read_text().split())
    allowed = (ROOT / ".dockerignore").read_text().split()
    assert "*" in allowed
    assert not [line for line in allowed if line.startswith("!") and ".env" in line]


def test_the_key_that_is_mounted_is_the_one_that_is_made(tmp_path: Path) -> None:
    private, _ = make(tmp_path)
    folder = re.search(r"python -m services\.identity make (\S+/)", (ROOT / "docs" / "security.md").read_text())
    assert folder is not None
    assert f"file: ./{folder[1]}{private.name} }}" in (ROOT / "docs" / "deploy.md").read_text()


def test_without_settings_the_workers_look_for_the_mocks(base: dict[str, Any]) -> None:
    """So that both `docker compose up` and `docker compose --profile mocks up` come up as they are."""
    said = base["services"]["worker"]["environment"]
    assert said["PAWL_RECEIVER_URL"] == "${PAWL_RECEIVER_URL:-http://receiver:7001}"
    assert said["PAWL_MODEL_URL"] == "${PAWL_MODEL_URL:-http://model:7002/v1}"
    text = (ROOT / "docker-compose.yml").read_text()
    assert ":?" not in text


def test_every_setting_in_the_file_exists(base: dict[str, Any]) -> None:
    known = {f"PAWL_{name.upper()}" for name in Settings.model_fields}
    named = {
        variable
        for _, service in services(base)
        for variable in service.get("environment", {})
        if variable.startswith("PAWL_")
    }
    assert "PAWL_SHUTDOWN_S" in named
    assert named <= known


def test_the_engine_waits_longer_than_the_worker_takes_and_the_worker_longer_than_an_effect(
    base: dict[str, Any],
) -> None:
    """A worker that is asked to end gets the time that it gives its steps."""
    worker = base["services"]["worker"]
    shutdown_s = float(worker["environment"]["PAWL_SHUTDOWN_S"])
    assert seconds(worker["stop_grace_period"]) >= shutdown_s + 1
    assert shutdown_s > max(tool.send_deadline_s for tool in TOOLS)


def test_the_engine_waits_longer_than_the_server_takes(base: dict[str, Any]) -> None:
    takes = tomllib.loads(RESTATE_TOML.read_text())["shutdown-timeout"]
    assert seconds(base["services"]["restate"]["stop_grace_period"]) > seconds(takes)


def test_the_stack_starts_by_health_and_ends_the_other_way_round(base: dict[str, Any]) -> None:
    for name, service in services(base):
        for other, how in service.get("depends_on", {}).items():
            wanted = "service_completed_successfully" if other in ONE_SHOT else "service_healthy"
            assert how["condition"] == wanted, f"{name} on {other}"
    assert {"restate", "receiver", "model"} <= set(base["services"]["worker"]["depends_on"])
    assert {name for name, service in services(base) if "healthcheck" not in service} == ONE_SHOT


def test_each_one_shot_is_waited_for_so_that_up_may_wait(base: dict[str, Any]) -> None:
    """`up --wait` takes a service that has ended for a failed one, unless another waits for its end."""
    for one in ONE_SHOT:
        waiting = [
            name
            for name, service in services(base)
            if one in service.get("depends_on", {}) and "profiles" not in service
        ]
        assert waiting, one


def test_each_release_is_registered_under_an_address_of_its_own(base: dict[str, Any]) -> None:
    address = "worker-${PAWL_RELEASE:-local}"
    assert base["services"]["worker"]["networks"]["inside"]["aliases"] == [address]
    assert base["services"]["register"]["command"][-1] == f"http://{address}:9080"
    assert base["services"]["doctor"]["environment"]["PAWL_LISTEN"] == f"{address}:9080"
    old = read(OLD)["services"]["old-worker"]
    assert old["extends"] == {"file": BASE, "service": "worker"}
    assert old["image"].startswith("pawl:${PAWL_OLD_RELEASE:?")
    assert old["networks"]["inside"]["aliases"] == ["worker-${PAWL_OLD_RELEASE}"]


def test_the_mocks_are_there_only_where_they_are_asked_for(base: dict[str, Any]) -> None:
    assert {name: service["profiles"] for name, service in services(base) if "profiles" in service} == {
        "receiver": ["mocks"],
        "model": ["mocks"],
    }
    optional = base["services"]["worker"]["depends_on"]
    assert not optional["receiver"]["required"]
    assert not optional["model"]["required"]


def test_each_node_keeps_its_data_under_a_name_of_its_own(base: dict[str, Any], cluster: dict[str, Any]) -> None:
    """The node's name is pinned, so that a new container reads the data of the old one."""
    first = tomllib.loads(RESTATE_TOML.read_text())["node-name"]
    names, volumes, addresses = [first], ["restate-data"], []
    for number, service in enumerate((cluster["services"][name] for name in ("restate", "node-2", "node-3")), 1):
        environment = service["environment"]
        addresses.append(environment["RESTATE_ADVERTISED_ADDRESS"])
        assert f"restate-{number}" in service["networks"]["inside"]["aliases"]
        assert environment["RESTATE_DEFAULT_REPLICATION"] == "2"
        if number > 1:
            assert service["extends"] == {"file": BASE, "service": "restate"}
            names.append(environment["RESTATE_NODE_NAME"])
            volumes.append(service["volumes"][0].partition(":")[0])
            assert environment["RESTATE_AUTO_PROVISION"] == "false"
        assert json.loads(environment["RESTATE_METADATA_CLIENT__ADDRESSES"]) == [
            f"http://restate-{each}:5122/" for each in (1, 2, 3)
        ]
    assert len(set(names)) == len(set(volumes)) == 3
    assert addresses == [f"http://restate-{each}:5122/" for each in (1, 2, 3)]
    kept = {*base["volumes"], *cluster["volumes"]}
    assert set(volumes) <= kept


def test_the_page_on_deploying_names_what_there_is(base: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    files = "".join((ROOT / name).read_text() for name in (BASE, CLUSTER, OLD))
    known = {f"PAWL_{name.upper()}" for name in Settings.model_fields} | set(re.findall(r"PAWL_[A-Z_0-9]+", files))
    assert set(re.findall(r"PAWL_[A-Z_0-9]*[A-Z0-9]", page)) <= known
    rows = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \| .* \| .* \| .* \|$", page, re.MULTILINE)
    assert {name.strip("`") for row in rows for name in row.split(", ")} == set(base["services"])
    assert f"restatedev/restate:{base['services']['restate']['image'].partition(':')[2]}" in page
