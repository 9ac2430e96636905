"""From a function's signature and docstring to what the model sees and what its arguments are checked with.

Rule: everything comes from the source, so the declaration cannot drift from the code. A signature that cannot be described is
refused with one sentence. A parameter named `key` in the first place is not the model's: keys are never seen or chosen by it.
Must not know: effect classes, HTTP, what a tool does.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from docstring_parser import parse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model
from pydantic.errors import PydanticUserError

from tools.plain import plain, shorten
from tools.request import canonical

KEY = "key"
PROBLEMS_BYTES = 1_000


class BadDeclaration(Exception):
    """A tool is declared wrongly; the text is one sentence. Raised when the tool's module is imported."""


@dataclass(frozen=True, slots=True)
class BadArguments:
    """The arguments do not fit; `reason` is one sentence that names each bad field."""

    reason: str


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    description: str
    takes_key: bool
    returns: object
    model: type[BaseModel]
    schema: dict[str, JsonValue]

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(self.model.model_fields)


def is_key_name(name: str) -> bool:
    """Whether a name means the idempotency key, however it is spelt."""
    return re.sub(r"[^a-z]", "", name.lower()) in {"key", "idempotencykey", "xidempotencykey"}


def signature(function: Callable[..., object]) -> Signature:
    """Reads a tool function. Raises BadDeclaration."""
    name = function.__name__
    hints = _hints(function, name)
    document = parse(inspect.getdoc(function) or "")
    description = "\n".join(words for words in (document.short_description, document.long_description) if words).strip()
    if not description:
        raise BadDeclaration(f"{name} has no docstring, and the model would not know what the tool does.")
    parameters = list(inspect.signature(function).parameters.values())
    takes_key = bool(parameters) and parameters[0].name == KEY
    if takes_key and hints.get(KEY) is not str:
        raise BadDeclaration(f"{name}: the parameter 'key' must be declared as `key: str`.")
    described = {parameter.arg_name: parameter.description or "" for parameter in document.params}
    visible = parameters[1:] if takes_key else parameters
    fields = {parameter.name: _field(name, parameter, hints, described) for parameter in visible}
    if unknown := sorted(set(described) - set(fields) - {KEY}):
        raise BadDeclaration(f"{name}: the docstring describes {', '.join(unknown)}, which the function does not take.")
    model = _model(name, fields)
    return Signature(name, description, takes_key, hints.get("return"), model, _schema(model))


def _hints(function: Callable[..., object], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise BadDeclaration(f"{name}: an annotation cannot be read: {error}.") from error


def _field(
    tool: str, parameter: inspect.Parameter, hints: dict[str, Any], described: dict[str, str]
) -> tuple[object, object]:
    if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
        raise BadDeclaration(f"{tool}: the parameter {parameter} cannot be described to the model; name each argument.")
    if is_key_name(parameter.name):
        raise BadDeclaration(
            f"{tool}: the model would see the parameter {parameter.name!r}; "
            "a tool takes its key as its first parameter, `key: str`, which the model never sees."
        )
    if parameter.name not in hints:
        raise BadDeclaration(f"{tool}: the parameter {parameter.name!r} has no type annotation.")
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    described_as = described.get(parameter.name) or None
    return Annotated[hints[parameter.name], Field(description=described_as)], default


def _model(name: str, fields: dict[str, tuple[object, object]]) -> type[BaseModel]:
    # Strict: "82" is not 82 and 100.0 is not 100. A fraction in a field of cents is more likely a wrong unit than a number.
    config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=(), validate_default=True)
    definitions: dict[str, Any] = dict(fields)
    try:
        return create_model(f"{name}_arguments", __config__=config, **definitions)
    except (PydanticUserError, NameError, TypeError) as error:
        raise BadDeclaration(f"{name}: the arguments cannot be described: {str(error).splitlines()[0]}.") from error


def _schema(model: type[BaseModel]) -> dict[str, JsonValue]:
    try:
        schema = _untitled(model.model_json_schema())
    except PydanticUserError as error:
        name = model.__name__.removesuffix("_arguments")
        raise BadDeclaration(f"{name}: the arguments have no JSON schema: {str(error).splitlines()[0]}.") from error
    assert isinstance(schema, dict)
    return {"type": "object", "properties": {}, **schema}


def _untitled(schema: JsonValue) -> JsonValue:
    """Without the titles that pydantic makes up from the names: the model reads the names, and each title costs tokens."""
    match schema:
        case dict():
            return {
                key: {name: _untitled(item) for name, item in value.items()}
                if key in ("properties", "$defs") and isinstance(value, dict)
                else _untitled(value)
                for key, value in schema.items()
                if key != "title" or not isinstance(value, str)
            }
        case list():
            return [_untitled(item) for item in schema]
        case _:
            return schema


def validate(model: type[BaseModel], arguments: dict[str, JsonValue]) -> BaseModel | BadArguments:
    """The arguments as the function takes them. A key that the model made up is dropped, everything else is its own."""
    given = {name: value for name, value in arguments.items() if name in model.model_fields or not is_key_name(name)}
    try:
        return model.model_validate_json(canonical(plain(given)))
    except ValidationError as error:
        problems = "; ".join(_problem(dict(detail)) for detail in error.errors(include_url=False, include_input=False))
        return BadArguments(shorten(f"{problems}.", PROBLEMS_BYTES))


def _problem(detail: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in detail["loc"]) or "the arguments"
    match detail["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where} is not an argument of this tool"
        case _:
            words = str(detail["msg"])
            return f"{where}: {words[:1].lower()}{words[1:]}"
