"""Tests of the mocks: the fakes are product code and have to be right before anything is judged by them."""
