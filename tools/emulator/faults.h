// The kinds of calls that the emulator lets fail, in the order of tests/testthat/test-faults.R.
#pragma once

enum FaultKind {
  fault_allocation,
  fault_copy,
  fault_launch,
  fault_loading,
  fault_compilation,
  fault_other,
  fault_kinds
};

extern "C" int emulator_fails(int kind);  // counts a call, and tells whether it is to fail (driver.cpp)
