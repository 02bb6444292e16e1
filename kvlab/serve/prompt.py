"""From a `Generate` message to the request that a runner takes: prompts as text, and chats through the model's own template, tools included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue
from kvlab.models.tokens import ROLES
from kvlab.serve.messages import Chat, Generate
from kvlab.workloads import Request
from kvlab.workloads.request import Sampling

if TYPE_CHECKING:
    from kvlab.models.mlx_model import MLXModel


def request_of(message: Generate, model: MLXModel) -> Request:
    """Return the request that a message is about.

    Raises:
        BadValue: a role is unknown, the model has no chat template, its template refuses the messages or the tools, or the prompt is longer than the
            context that the message gives.
    """
    request = _unbounded(message, model)
    context = message.context
    if not 0 < context < (model.shape.context or context + 1):
        return request
    tokens = len(model.encode(request))
    if tokens > context:
        raise BadValue(
            what=f"input length ({tokens} tokens) exceeds the context length of this request ({context} tokens)",
            why="num_ctx or OLLAMA_CONTEXT_LENGTH says so, and no message is cut away here",
            hint="shorten the prompt, or give a larger num_ctx",
        )
    # a reply's last token is never evaluated: it needs no room
    return replace(request, max_new=min(request.max_new, context - tokens + 1))


def _unbounded(message: Generate, model: MLXModel) -> Request:
    sampled = message.sampled
    given: dict[str, Any] = {
        "label": message.label,
        "max_new": message.max_new,
        "sampling": Sampling(sampled.temperature, sampled.top_p, sampled.top_k, sampled.min_p, sampled.seed),
    }
    messages = message.messages
    if not messages:
        if not message.templated or not has_template(model):
            return Request(prompt=message.prompt, **given)
        messages = (*([Chat("system", message.system)] if message.system else []), Chat("user", message.prompt))
    if message.tools or any(one.calls or one.tool_name or one.thinking for one in messages):
        return Request(tokens=tuple(_rendered(messages, message.tools, model)), **given)
    return Request(messages=tuple((one.role, one.content) for one in messages), **given)


def has_template(model: MLXModel) -> bool:
    """Return whether the model was trained to chat: its tokenizer has a template."""
    return bool(getattr(_wrapper(model), "has_chat_template", False))


def calls_tools(model: MLXModel) -> bool:
    """Return whether the model's template has a way to call tools that mlx-lm reads."""
    return bool(getattr(_wrapper(model), "has_tool_calling", False))


def _wrapper(model: MLXModel) -> Any:
    # only mlx-lm's tokenizers have one
    return getattr(model.tokenizer, "wrapper", None)


def _rendered(messages: tuple[Chat, ...], tools: tuple[dict[str, Any], ...], model: MLXModel) -> list[int]:
    from jinja2 import TemplateError

    for one in messages:
        if one.role not in ROLES:
            raise BadValue(what=f"a chat message cannot be from {one.role!r}", why=f"the roles are {', '.join(ROLES)}", hint="correct the role")
    if not has_template(model):
        raise BadValue(
            what=f"{model.name} does not accept chat messages",
            why="it has no chat template: it continues text and was not trained to chat",
            hint="send a prompt to /api/generate",
        )
    wrapper = _wrapper(model)
    try:
        return list(wrapper.apply_chat_template([_entry(one) for one in messages], tools=list(tools) or None, tokenize=True, add_generation_prompt=True))
    except (TemplateError, TypeError) as error:
        raise BadValue(
            what=f"the messages with roles {', '.join(one.role for one in messages)} and {len(tools)} tools cannot be rendered",
            why=f"the model's chat template says: {error}",
            hint="change the order or the roles of the messages, or leave the tools out",
        ) from error


def _entry(message: Chat) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        entry["tool_calls"] = [{"type": "function", "function": call} for call in message.calls]
    if message.tool_name:
        entry["name"] = message.tool_name
    if message.thinking:
        entry["reasoning_content"] = message.thinking
    return entry
