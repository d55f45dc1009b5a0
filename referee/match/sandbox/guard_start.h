/* System calls without the C library, and the guard's entry point.

   A static program of a few pages starts in half the time of one that loads a library. On machines other than x86-64
   and aarch64 the C library is used. */

#ifndef GUARD_START_H
#define GUARD_START_H

#include <asm/unistd.h>

static int guard(int argc, char **argv, char **environment);

#if defined(__x86_64__)

static inline long call6(long n, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

__asm__(".text\n.global _start\n_start:\n"
        "xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin\nhlt\n");

#define WITHOUT_LIBRARY 1

#elif defined(__aarch64__)

static inline long call6(long n, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

__asm__(".text\n.global _start\n_start:\nmov x29, #0\nmov x30, #0\nmov x0, sp\nbl begin\n");

#define WITHOUT_LIBRARY 1

#else

#include <errno.h>
#include <unistd.h>

static inline long call6(long n, long a, long b, long c, long d, long e, long f)
{
    long result = syscall(n, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}

int main(int argc, char **argv, char **environment)
{
    return guard(argc, argv, environment);
}

#endif

#define CALL(name, a, b, c, d, e) call6(__NR_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#ifdef WITHOUT_LIBRARY

/* The initial stack holds argc, argv, 0, the environment, 0. */
__attribute__((used)) static void begin(long *stack)
{
    int argc = (int)stack[0];
    char **argv = (char **)(stack + 1);
    CALL(exit_group, guard(argc, argv, argv + argc + 1), 0, 0, 0, 0);
    __builtin_unreachable();
}

/* Compilers may generate calls of these functions. */
__attribute__((used)) void *memset(void *to, int byte, unsigned long size)
{
    for (volatile char *at = to; size--; at++)
        *at = (char)byte;
    return to;
}

__attribute__((used)) void *memcpy(void *to, const void *from, unsigned long size)
{
    volatile char *at = to;
    for (const char *source = from; size--; source++)
        *at++ = *source;
    return to;
}

#endif
#endif
