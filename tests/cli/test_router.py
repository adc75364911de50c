"""`eigenbandits router`: settings are checked before anything runs."""

from typer.testing import CliRunner

from eigenbandits.cli import app

RUNNER = CliRunner()


def test_settings_are_checked(tmp_path):
    path = tmp_path / "router.toml"
    path.write_text('[[models]]\nname = "a"\nurl = "http://127.0.0.1:1/v1"\n')
    found = RUNNER.invoke(app(), ["router", "serve", "--config", str(path), "--check"])
    assert found.exit_code == 0
    assert "models: 1, on 127.0.0.1:8780" in found.output
    path.write_text("models = []")
    found = RUNNER.invoke(app(), ["router", "serve", "--config", str(path), "--check"])
    assert found.exit_code == 2
    assert "models is empty" in found.output


def test_unknown_scenarios_are_refused(tmp_path):
    found = RUNNER.invoke(app(), ["router", "study", "--scenarios", "rain", "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "scenarios has 'rain'" in found.output
