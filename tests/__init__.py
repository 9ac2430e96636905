"""Tests mirror the folders; each folder is a package, so that no test folder hides the package it tests."""
