"""From a function's signature and docstring to what the model sees and what its arguments are checked with.

Rule: everything comes from the source, so the declaration cannot drift from the code; a signature that cannot be
described is refused with one sentence. The first parameter is the key where it is called `key`; the model neither sees
nor chooses it.
Must not know: effect classes, HTTP, what a tool does.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from docstring_parser import parse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model
from pydantic.errors import PydanticUserError

from tools.plain import plain
from tools.request import canonical
from tools.size import shorten

KEY = "key"
# All problems of one call, in the model's next prompt.
PROBLEMS_BYTES_MAX = 1_000
# Strict: "82" is not 82, and 100.0 is not 100: a fraction in a field of cents is more likely a wrong unit.
_CONFIG = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True, protected_namespaces=())


class BadDeclaration(Exception):
    """A tool is declared wrongly; the text is one sentence. Raised when the tool's module is imported."""


@dataclass(frozen=True, slots=True)
class BadArguments:
    """The arguments do not fit; `reason` is one sentence that names each bad field."""

    reason: str


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function says about itself. `model` checks the arguments, `schema` describes them."""

    name: str
    description: str
    takes_key: bool
    returns: object
    model: type[BaseModel]
    schema: dict[str, JsonValue]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names that the model sees, in the order of the signature."""
        return tuple(self.model.model_fields)


def is_key_name(name: str) -> bool:
    """Whether a name means the idempotency key, however it is spelt."""
    return re.sub(r"[^a-z]", "", name.lower()) in {"key", "idempotencykey", "xidempotencykey"}


def signature(function: Callable[..., object]) -> Signature:
    """Reads a tool's function. Raises BadDeclaration."""
    name = function.__name__
    hints = _hints(function)
    document = parse(inspect.getdoc(function) or "")
    description = "\n".join(filter(None, (document.short_description, document.long_description))).strip()
    if not description:
        raise BadDeclaration(f"{name} has no docstring, and the model would not know what the tool does.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadDeclaration(f"{name} is a generator: calling it would do nothing; return the values as a list.")
    parameters = list(inspect.signature(function).parameters.values())
    takes_key = bool(parameters) and parameters[0].name == KEY
    if takes_key and hints.get(KEY) is not str:
        raise BadDeclaration(f"{name}: the parameter 'key' must be declared as `key: str`.")
    described = {parameter.arg_name: parameter.description for parameter in document.params}
    visible = parameters[1:] if takes_key else parameters
    fields = {entry.name: _field(name, entry, hints, described.get(entry.name)) for entry in visible}
    if strangers := sorted(set(described) - set(fields) - {KEY}):
        raise BadDeclaration(
            f"{name}: the docstring describes {', '.join(strangers)}, which the function does not take."
        )
    model = _model(name, fields)
    return Signature(name, description, takes_key, hints.get("return"), model, _schema(name, model))


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise BadDeclaration(f"{function.__name__}: an annotation cannot be read: {error}.") from error


def _field(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any], description: str | None) -> Any:
    name = parameter.name
    if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
        raise BadDeclaration(
            f"{tool}: the parameter '{parameter}' cannot be described to the model; name each argument."
        )
    if is_key_name(name):
        raise BadDeclaration(
            f"{tool}: the model would see the parameter {name!r}; "
            "a tool takes its key as its first parameter, `key: str`, which the model never sees."
        )
    if name not in hints:
        raise BadDeclaration(f"{tool}: the parameter {name!r} has no type annotation.")
    annotation = Annotated[hints[name], Field(description=description)] if description else hints[name]
    return annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model(f"{name}_arguments", __config__=_CONFIG, **fields)
    except (PydanticUserError, NameError, TypeError) as error:
        raise BadDeclaration(f"{name}: its arguments cannot be described: {_first_line(error)}.") from error
    return model


def _schema(name: str, model: type[BaseModel]) -> dict[str, JsonValue]:
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise BadDeclaration(f"{name}: its arguments have no JSON schema: {_first_line(error)}.") from error
    return {"type": "object", "properties": {}, **_untitled(schema)}


def _untitled(schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Without the titles that pydantic makes up from names: the model reads the names, and each title costs tokens."""
    result: dict[str, JsonValue] = {}
    for key, value in schema.items():
        match value:
            case str() if key == "title":
                continue
            case dict() if key in ("properties", "$defs"):
                result[key] = {name: _untitled(item) for name, item in value.items()}
            case dict() if key not in ("default", "const", "examples", "enum"):
                result[key] = _untitled(value)
            case list() if key in ("anyOf", "allOf", "oneOf", "prefixItems"):
                result[key] = [_untitled(item) for item in value]
            case _:
                result[key] = value
    return result


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def validate(model: type[BaseModel], arguments: Mapping[str, JsonValue]) -> BaseModel | BadArguments:
    """The arguments as the function takes them. A key that the model made up is dropped, anything else unknown is
    refused."""
    given = {name: value for name, value in arguments.items() if name in model.model_fields or not is_key_name(name)}
    try:
        return model.model_validate_json(canonical(plain(given)))
    except ValidationError as error:
        problems = "; ".join(_problem(dict(detail)) for detail in error.errors(include_url=False, include_input=False))
        return BadArguments(shorten(f"{problems}.", PROBLEMS_BYTES_MAX))


def _problem(detail: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in detail["loc"]) or "the arguments"
    match detail["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where} is not an argument of this tool"
        case _:
            words = str(detail["msg"])
            return f"{where}: {words[:1].lower()}{words[1:]}"
