"""Loggers that are quiet for a while."""

import logging

import pytest

from certgrad.process.logs import quiet


def test_what_is_less_grave_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("certgrad-test-of-logs")
    logger.setLevel(logging.INFO)
    with quiet(logger.name, logging.ERROR):
        logger.warning("unheard")
        logger.error("heard")
    with quiet(logger.name):
        logger.critical("unheard too")
    logger.info("heard again")
    assert caplog.messages == ["heard", "heard again"]
    assert logger.level == logging.INFO
