"""The outside world as two small processes: a receiver of effects and a scripted model. Imports third parties only."""
