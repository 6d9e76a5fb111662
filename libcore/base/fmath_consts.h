/* base/fmath_consts.h - constants of base/fmath.c, for those who repeat its float functions on
 * vectors.
 * Made by scripts/fit-fmath.py. */
#ifndef BASE_FMATH_CONSTS_H
#define BASE_FMATH_CONSTS_H

/* e^x = 2^n (1 + r + r^2 (C2 + C3 r + ...)), x = n ln2 + r; LN2_HI has 16 bits, so n LN2_HI is
 * exact.
 * Adding MAGIC rounds to an integer, which is then in the low bits. */
#define FM_MAGICF 0x1.8p23f
#define FM_LOG2EF 0x1.715476p+0f
#define FM_LN2_HIF 0x1.62e4p-1f
#define FM_LN2_LOF 0x1.7f7d1cp-20f
#define FM_EXPF_MIN -104.0f
#define FM_EXPF_MAX 89.0f
/* relative error of the polynomial: 2^-28.0 */
#define FM_EXPF_C2 0x1.fffff8p-2f
#define FM_EXPF_C3 0x1.55548ep-3f
#define FM_EXPF_C4 0x1.555b98p-5f
#define FM_EXPF_C5 0x1.123bd4p-7f
#define FM_EXPF_C6 0x1.68512cp-10f

/* e^x of x <= 0 as attention weighs with it: one term less; LN2 in one number; MAGIC leaves n +
 * 127 */
#define FM_EXPW_MAGICF 0x1.8000fep23f
#define FM_EXPW_MIN -87.0f
#define FM_EXPW_LN2F 0x1.62e43p-1f
/* relative error of the polynomial: 2^-23.0 */
#define FM_EXPW_C2 0x1.fffdcp-2f
#define FM_EXPW_C3 0x1.55567cp-3f
#define FM_EXPW_C4 0x1.573beep-5f
#define FM_EXPW_C5 0x1.111596p-7f

/* log(1 + f) = f - f^2/2 + f^3 (C3 + C4 f + ...), sqrt(1/2) <= 1 + f < sqrt(2); SPLIT: bits of
 * sqrt(1/2) */
#define FM_LOGF_SPLIT 0x3f3504f3u
/* relative error of the polynomial: 2^-30.1 */
#define FM_LOGF_C3 0x1.555546p-2f
#define FM_LOGF_C4 -0x1.00000ap-2f
#define FM_LOGF_C5 0x1.99a546p-3f
#define FM_LOGF_C6 -0x1.555ae4p-3f
#define FM_LOGF_C7 0x1.232cfap-3f
#define FM_LOGF_C8 -0x1.fc4dap-4f
#define FM_LOGF_C9 0x1.e7a54ep-4f
#define FM_LOGF_C10 -0x1.dd651p-4f
#define FM_LOGF_C11 0x1.11c874p-4f

/* tanh x = x + x^3 (C3 + C5 x^2 + ...) below SMALL */
#define FM_TANHF_SMALL 0.625f
/* relative error of the polynomial: 2^-27.7 */
#define FM_TANHF_C3 -0x1.555532p-2f
#define FM_TANHF_C5 0x1.1106fep-3f
#define FM_TANHF_C7 -0x1.b8378p-5f
#define FM_TANHF_C9 0x1.52095ep-6f
#define FM_TANHF_C11 -0x1.7567ecp-8f

/* P(N > x) = e^(-x^2 / 2) s (C0 + C1 s + ...) of the normal distribution, s = 1 / (1 + x / 4), 0 <=
 * x <= MAX */
#define FM_TAILF_MAX 14.0f
/* relative error of the polynomial: 2^-23.9 */
#define FM_TAILF_C0 0x1.98c7b2p-4f
#define FM_TAILF_C1 0x1.935b1p-4f
#define FM_TAILF_C2 0x1.aa33fp-4f
#define FM_TAILF_C3 0x1.0383b6p-5f
#define FM_TAILF_C4 0x1.a3746ap-3f
#define FM_TAILF_C5 -0x1.aedceep-3f
#define FM_TAILF_C6 0x1.33812ep-2f
#define FM_TAILF_C7 -0x1.3d3e2ep-3f
#define FM_TAILF_C8 0x1.acc062p-6f

/* double: as above; LN2_HI has 42 bits */
#define FM_MAGIC 0x1.8p52
#define FM_LOG2E 0x1.71547652b82fep+0
#define FM_LN2_HI 0x1.62e42fefa38p-1
#define FM_LN2_LO 0x1.ef35793c7673p-45
/* relative error of the polynomial: 2^-57.8 */
#define FM_EXP_C2 0x1.000000000000bp-1
#define FM_EXP_C3 0x1.555555555550fp-3
#define FM_EXP_C4 0x1.5555555550299p-5
#define FM_EXP_C5 0x1.1111111122b5p-7
#define FM_EXP_C6 0x1.6c16c1852e7a6p-10
#define FM_EXP_C7 0x1.a01a0144986f6p-13
#define FM_EXP_C8 0x1.a01997bdd0488p-16
#define FM_EXP_C9 0x1.71deec5a7a045p-19
#define FM_EXP_C10 0x1.28af4bd631a5p-22
#define FM_EXP_C11 0x1.add7947f3ba76p-26

/* log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + C5 s^2 + C7 s^4 + ...); SPLIT: bits of sqrt(1/2) */
#define FM_LOG_SPLIT 0x3fe6a09e667f3bcdu
#define FM_LOG_C3_HI 0x1.5555555555555p-1
#define FM_LOG_C3_LO 0x1.5555555555555p-55
/* relative error of the polynomial: 2^-76.5 */
#define FM_LOG_C5 0x1.999999999999ap-2
#define FM_LOG_C7 0x1.2492492492387p-2
#define FM_LOG_C9 0x1.c71c71c73f7f7p-3
#define FM_LOG_C11 0x1.745d173212c9ap-3
#define FM_LOG_C13 0x1.3b13b7e341cefp-3
#define FM_LOG_C15 0x1.110fa9da08a39p-3
#define FM_LOG_C17 0x1.e240dcfbf9c61p-4
#define FM_LOG_C19 0x1.a793dd4d89025p-4
#define FM_LOG_C21 0x1.d9d5df9990a42p-4

/* pi/2 in three parts of 53 bits; sin r = r + r^3 (S3 + S5 r^2 + ...), cos r = 1 - r^2/2 + r^4 (C4
 * + C6 r^2 + ...) */
#define FM_2_PI 0x1.45f306dc9c883p-1
#define FM_PIO2_1 0x1.921fb54442d18p+0
#define FM_PIO2_2 0x1.1a62633145c07p-54
#define FM_PIO2_3 -0x1.f1976b7ed8fbcp-110
/* relative error of the polynomial: 2^-57.9 */
#define FM_SIN_S3 -0x1.5555555555548p-3
#define FM_SIN_S5 0x1.111111110f75ep-7
#define FM_SIN_S7 -0x1.a01a019bf262p-13
#define FM_SIN_S9 0x1.71de355f53ddp-19
#define FM_SIN_S11 -0x1.ae5e54bfb0e22p-26
#define FM_SIN_S13 0x1.5d8e4fc21d729p-33
/* relative error of the polynomial: 2^-63.8 */
#define FM_COS_C4 0x1.555555555554ap-5
#define FM_COS_C6 -0x1.6c16c16c14e4bp-10
#define FM_COS_C8 0x1.a01a019c68c81p-16
#define FM_COS_C10 -0x1.27e4f7d92857cp-22
#define FM_COS_C12 0x1.1ee9ccea63dc3p-29
#define FM_COS_C14 -0x1.8f9f7f1f1bd09p-37
#endif
