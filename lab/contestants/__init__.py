"""Contestants beside Pawl, to be killed and timed with it: peers and loops by hand.

A peer does the agent's job in another framework, in that framework's documented way. A contestant's engine is the
server process behind it, where there is one: the restate-server, or Temporal's.

Rule: they share the mocks with the agent and no code with it. Nothing of the project needs them: `make lab-peers`
installs their packages into an environment of their own, and a peer that is not installed is left out with a reason.

Every worker reads its environment (`outside.Settings`), listens on 127.0.0.1:PORT, answers `GET /health` with 200 once
it serves and prints one line, `NAME listening on http://127.0.0.1:PORT`. KEYED=1 sends the stable id that the framework
offers as the Idempotency-Key of each effect; without it no key is sent.

| worker | where `{"task"}` is posted | after SIGKILL and a restart it goes on |
| --- | --- | --- |
| dbos_loop, temporal_loop | the worker's /runs/{run_id} | by itself |
| langgraph_agent | the worker's /runs/{run_id} | when it is posted again |
| openai_agents_on_restate | the ingress's /OpenAIAgents/{run_id}/run | by itself |
| pydantic_ai_on_restate | the ingress's /PydanticAI/{run_id}/run | by itself |
| typescript/agent.mjs | the ingress's /TypeScript/{run_id}/run | by itself |

At the worker `GET /runs/{run_id}` says where a run stands: `{"run_id", "state", "answer"?}`. Both methods take
`?wait_s=N`, which waits for the end. temporal_loop needs Temporal's own server, which a package carries: see `targets`.
"""
