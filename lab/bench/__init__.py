"""The benchmark: what durability with keys costs, beside other ways to run the same job.

Rule: one job, one machine, one sitting; contestants take turns in every round, and a run counts only when the ledger of
the benchmark's own receiver shows exactly its effects. Numbers of two sittings are never divided by each other.

| module | what |
| --- | --- |
| jobs | what a run is asked to do, and what the ledger must then show |
| wire, world, mock | the model and the receiver: in memory, without latency, with a ledger |
| contestants, field | who takes part; all of them up at once, on one server |
| audit, sums | runs against the ledger; medians, spreads, ratios. Pure |
| speed, recovery, growth, replay, memory, workers, clients, windows, ceiling | the parts, each measured by itself |
| parts, told, goals | which parts there are; bench.json; what must be reached |
| shown, plots, page, written | the table, the pictures, the report's section, the README's lines. Pure |
| run | the command |
"""
