"""From a configuration to an embedder."""

import subprocess
import sys
import types

import pytest
from counting_embedder import CountingEmbedder

from chunk_assets.embedding import registry
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.registry import build_embedder, describe
from chunk_assets.errors import ConfigurationError, EmbeddingError


def custom(factory: str, **options: object) -> EmbedderConfig:
    return EmbedderConfig(backend="custom", factory=factory, options=options)


@pytest.fixture
def factories(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType("some_factories")
    monkeypatch.setitem(sys.modules, "some_factories", module)
    return module


def test_what_is_known_of_a_model_is_known_without_loading_it() -> None:
    code = (
        "import sys\n"
        "from chunk_assets.embedding.config import EmbedderConfig\n"
        "from chunk_assets.embedding.registry import build_embedder, describe\n"
        "config = EmbedderConfig()\n"
        "embedder = build_embedder('minilm', config)\n"
        "str(describe(config))\n"
        "assert len(embedder.fingerprint) == 32\n"
        "assert (embedder.dimension, embedder.max_tokens) == (384, 254)\n"
        "assert embedder.tokenizer.count(['a word']) == [2]\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'scipy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_registry_imports_no_tokenizer_library() -> None:
    code = (
        "import sys, chunk_assets.embedding.registry\n"
        "assert not {'tokenizers', 'regex', 'torch', 'safetensors'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_custom_factory_is_called_with_name_and_configuration() -> None:
    embedder = build_embedder("mine", custom("counting_embedder:build", dimension=8))
    assert isinstance(embedder, CountingEmbedder)
    assert (embedder.name, embedder.dimension) == ("mine", 8)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("no_such_module:build", r"embedders\.mine\.factory: .* cannot be imported.*PYTHONPATH"),
        ("counting_embedder:no_such", r"'counting_embedder:no_such' cannot be imported"),
    ],
)
def test_a_factory_that_is_not_there_is_named(factory: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_embedder("mine", custom(factory))


def test_a_factory_that_is_no_callable_is_named(factories: types.ModuleType) -> None:
    factories.__dict__["table"] = {}
    with pytest.raises(
        ConfigurationError, match=r"is a dict, expected a callable \(name, config\)"
    ):
        build_embedder("mine", custom("some_factories:table"))


def test_a_factory_that_returns_no_embedder_says_what_is_missing(
    factories: types.ModuleType,
) -> None:
    factories.__dict__["build"] = lambda name, config: types.SimpleNamespace(name=name, dimension=3)
    with pytest.raises(ConfigurationError, match="without fingerprint, max_tokens, tokenizer"):
        build_embedder("mine", custom("some_factories:build"))


def test_a_model_that_is_not_there_is_an_error_when_built() -> None:
    with pytest.raises(EmbeddingError, match="no Python package 'no_such_model'"):
        build_embedder("gone", EmbedderConfig(model="package:no_such_model"))


def test_the_choice_says_what_runs_and_why() -> None:
    choice = describe(EmbedderConfig(device="cpu", precision="float32", threads=1))

    assert (choice.backend, choice.device, choice.precision) == ("openvino", "cpu", "float32")
    assert str(choice).startswith("openvino · cpu · float32 (openvino: the fastest")
    assert "float32: as configured" in str(choice)
    assert "threads: at most 1 of" in str(choice)


@pytest.mark.parametrize("settings", [{"device": "cuda"}, {"precision": "float16"}], ids=str)
def test_what_openvino_does_not_offer_is_run_by_torch(settings: dict[str, str]) -> None:
    assert describe(EmbedderConfig.model_validate(settings)).backend == "torch"


def test_without_openvino_torch_runs_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    choice = describe(EmbedderConfig(device="cpu"))
    assert choice.backend == "torch"
    assert "openvino, which is faster on processors, is not installed" in str(choice)


def test_the_choice_of_a_custom_backend_names_its_factory() -> None:
    assert str(describe(custom("a.b:c"))) == "custom (factory a.b:c)"
