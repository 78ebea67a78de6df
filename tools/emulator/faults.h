// The kinds of calls that the emulator can make fail, in the order of tests/testthat/test-faults.R.
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

extern "C" int emulator_fails(int kind);  // counts a call, and returns whether it must fail (driver.cpp)
