"""
The real clients, each pointed at a server on loopback, and the streams of objects that they give.

Clients are kept for as long as a `Clients` lives, since making one costs more than a request.
"""

from __future__ import annotations

import asyncio
import warnings
from functools import cached_property
from importlib import metadata, util
from typing import Any, NamedTuple

MESSAGES = [{"role": "user", "content": "hi"}]
# LiteLLM hides the usage unless it is asked for.
USAGE = {"stream_options": {"include_usage": True}}


class Sdk(NamedTuple):
    """One way to get a stream out of an SDK."""

    package: str
    module: str
    dialect: str
    kind: str
    """What the server has to send: `sse`, `ndjson`, `aws`."""
    is_direct: bool
    """The stream shows the HTTP response that it reads from."""
    has_async: bool = True


SDKS = {
    "openai-chat": Sdk("openai", "openai", "openai-chat", "sse", True),
    "openai-completions": Sdk("openai", "openai", "openai-completions", "sse", True),
    "openai-responses": Sdk("openai", "openai", "openai-responses", "sse", True),
    "anthropic": Sdk("anthropic", "anthropic", "anthropic-messages", "sse", True),
    "google-genai": Sdk("google-genai", "google.genai", "gemini", "sse", False),
    "groq": Sdk("groq", "groq", "openai-chat", "sse", True),
    "together": Sdk("together", "together", "openai-chat", "sse", True),
    "mistralai": Sdk("mistralai", "mistralai", "openai-chat", "sse", True),
    "cohere": Sdk("cohere", "cohere", "cohere-v2", "sse", False),
    "ollama": Sdk("ollama", "ollama", "ollama", "ndjson", False),
    "boto3-converse": Sdk("boto3", "boto3", "bedrock-converse", "aws", True, has_async=False),
    "boto3-invoke": Sdk("boto3", "boto3", "bedrock-invoke", "aws", True, has_async=False),
    "litellm": Sdk("litellm", "litellm", "openai-chat", "sse", False),
    "langchain": Sdk("langchain-openai", "langchain_openai", "openai-chat", "sse", False),
}


def is_installed(name: str) -> bool:
    try:
        return util.find_spec(SDKS[name].module) is not None
    except ModuleNotFoundError:
        return False


def version(name: str) -> str:
    return metadata.version(SDKS[name].package)


class Clients:
    """The synchronous clients: `clients.stream(name)` sends a request and gives the SDK's stream."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stream(self, name: str) -> Any:
        return getattr(self, "_" + name.replace("-", "_"))()

    def close(self) -> None:
        """All of them, so that no socket is left to be told of in the test that happens to be the last."""
        made = self.__dict__
        for name in ("openai", "anthropic", "google", "groq", "together", "ollama", "bedrock"):
            if name in made:
                made[name].close()
        for name in ("mistral", "cohere"):
            if name in made:
                made[name].__exit__(None, None, None)
        if "langchain" in made:
            made["langchain"].root_client.close()

    @cached_property
    def openai(self) -> Any:
        import openai

        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)

    @cached_property
    def anthropic(self) -> Any:
        import anthropic

        return anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0)

    @cached_property
    def google(self) -> Any:
        from google import genai

        return genai.Client(api_key="none", http_options={"base_url": self.url})

    @cached_property
    def groq(self) -> Any:
        import groq

        return groq.Groq(base_url=self.url, api_key="none", max_retries=0)

    @cached_property
    def together(self) -> Any:
        import together

        return together.Together(base_url=self.url, api_key="none", max_retries=0)

    @cached_property
    def mistral(self) -> Any:
        from mistralai.client import Mistral

        return Mistral(api_key="none", server_url=self.url)

    @cached_property
    def cohere(self) -> Any:
        import cohere

        return cohere.ClientV2(api_key="none", base_url=self.url)

    @cached_property
    def ollama(self) -> Any:
        import ollama

        return ollama.Client(host=self.url)

    @cached_property
    def bedrock(self) -> Any:
        import boto3

        keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
        return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=self.url, **keys)

    @cached_property
    def langchain(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="m", base_url=f"{self.url}/v1", api_key="none", max_retries=0, stream_usage=True)

    def _openai_chat(self) -> Any:
        return self.openai.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _openai_completions(self) -> Any:
        return self.openai.completions.create(model="m", prompt="hi", stream=True)

    def _openai_responses(self) -> Any:
        return self.openai.responses.create(model="m", input="hi", stream=True)

    def _anthropic(self) -> Any:
        return self.anthropic.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)

    def _google_genai(self) -> Any:
        return self.google.models.generate_content_stream(model="m", contents="hi")

    def _groq(self) -> Any:
        return self.groq.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _together(self) -> Any:
        return self.together.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _mistralai(self) -> Any:
        return self.mistral.chat.stream(model="m", messages=MESSAGES)

    def _cohere(self) -> Any:
        return self.cohere.chat_stream(model="m", messages=MESSAGES)

    def _ollama(self) -> Any:
        return self.ollama.chat(model="m", messages=MESSAGES, stream=True)

    def _boto3_converse(self) -> Any:
        messages = [{"role": "user", "content": [{"text": "hi"}]}]
        return self.bedrock.converse_stream(modelId="m", messages=messages)["stream"]

    def _boto3_invoke(self) -> Any:
        return self.bedrock.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"]

    def _litellm(self) -> Any:
        import litellm

        return litellm.completion(
            model="openai/m",
            messages=MESSAGES,
            api_base=f"{self.url}/v1",
            api_key="none",
            stream=True,
            max_retries=0,
            **USAGE,
        )

    def _langchain(self) -> Any:
        return self.langchain.stream("hi")


class AsyncClients:
    """The asynchronous ones; each belongs to the event loop that it was made in."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._open: list[Any] = []

    async def stream(self, name: str) -> Any:
        found = getattr(self, "_" + name.replace("-", "_"))()
        return await found if asyncio.iscoroutine(found) or hasattr(found, "__await__") else found

    async def close(self) -> None:
        for client in self._open:
            await client.close()

    def _kept(self, client: Any) -> Any:
        self._open.append(client)
        return client

    @cached_property
    def openai(self) -> Any:
        import openai

        return self._kept(openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0))

    @cached_property
    def anthropic(self) -> Any:
        import anthropic

        return self._kept(anthropic.AsyncAnthropic(base_url=self.url, api_key="none", max_retries=0))

    @cached_property
    def google(self) -> Any:
        from google import genai

        return genai.Client(api_key="none", http_options={"base_url": self.url}).aio

    @cached_property
    def langchain(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="m", base_url=f"{self.url}/v1", api_key="none", max_retries=0, stream_usage=True)

    def _openai_chat(self) -> Any:
        return self.openai.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _openai_completions(self) -> Any:
        return self.openai.completions.create(model="m", prompt="hi", stream=True)

    def _openai_responses(self) -> Any:
        return self.openai.responses.create(model="m", input="hi", stream=True)

    def _anthropic(self) -> Any:
        return self.anthropic.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)

    def _google_genai(self) -> Any:
        return self.google.models.generate_content_stream(model="m", contents="hi")

    def _groq(self) -> Any:
        import groq

        client = self._kept(groq.AsyncGroq(base_url=self.url, api_key="none", max_retries=0))
        return client.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _together(self) -> Any:
        import together

        client = self._kept(together.AsyncTogether(base_url=self.url, api_key="none", max_retries=0))
        return client.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    def _mistralai(self) -> Any:
        from mistralai.client import Mistral

        return Mistral(api_key="none", server_url=self.url).chat.stream_async(model="m", messages=MESSAGES)

    def _cohere(self) -> Any:
        import cohere

        return cohere.AsyncClientV2(api_key="none", base_url=self.url).chat_stream(model="m", messages=MESSAGES)

    def _ollama(self) -> Any:
        import ollama

        return ollama.AsyncClient(host=self.url).chat(model="m", messages=MESSAGES, stream=True)

    def _litellm(self) -> Any:
        import litellm

        return litellm.acompletion(
            model="openai/m",
            messages=MESSAGES,
            api_base=f"{self.url}/v1",
            api_key="none",
            stream=True,
            max_retries=0,
            **USAGE,
        )

    def _langchain(self) -> Any:
        return self.langchain.astream("hi")
