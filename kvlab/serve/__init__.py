"""Serve: real models behind Ollama's and OpenAI's HTTP API, each in a process of its own, every request recorded.

A request's way: `app` (routes, who may call) -> `ollama_api` or `openai_api` (one API's words) -> `answering` (an answer, whatever the API) ->
`scheduler` (which model is loaded, whose turn it is) -> `runner_process` (the parent's end of a runner) -> `child` (the runner itself, in its own process).

Invariants: MLX is imported in children alone; a runner serves one request at a time; a child ends when its parent does.
"""
