// The name of the instruction set, as a part of identifiers and as text.
#pragma once
#define KERNOPS_JOIN_(a, b) a##b
#define KERNOPS_JOIN(a, b) KERNOPS_JOIN_(a, b)
#define KERNOPS_TEXT_(a) #a
#define KERNOPS_TEXT(a) KERNOPS_TEXT_(a)
