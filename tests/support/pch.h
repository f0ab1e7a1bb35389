// Headers that nearly every unit test needs, compiled once.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/pch.h"
