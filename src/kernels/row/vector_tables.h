/* vector_tables.h - piecewise polynomials of vector_math.h: row 0 holds the middles of 16 intervals, row 1 +
 * k the coefficients of the k-th power of the distance from there. Middles are floats at which the function
 * happens to be a float too, very nearly, so that its constant term adds no error; that of the first interval
 * is 0. Minimax, found by Remez' exchange in 90 digits. */
#ifndef TERN_KERNELS_ROW_VECTOR_TABLES_H
#define TERN_KERNELS_ROW_VECTOR_TABLES_H

/* clang-format off */

/* erf(a), interval k around k * 17 / 64. Relative error below 2^-24.8. */
static const float erf_table[7][16] = {
    {0, 0x1.0d9eb8p-2f, 0x1.144e82p-1f, 0x1.8efd7p-1f, 0x1.11ba74p+0f, 0x1.58fc96p+0f, 0x1.9c05fap+0f,
     0x1.dc3a06p+0f, 0x1.0dfd04p+1f, 0x1.33f81cp+1f, 0x1.5322c6p+1f, 0x1.756b4ep+1f, 0x1.955d7p+1f,
     0x1.bb963p+1f, 0x1.df374p+1f, 0x1.00b162p+2f},
    {0, 0x1.2958ccp-2f, 0x1.1bfb96p-1f, 0x1.7589bap-1f, 0x1.bd2fa8p-1f, 0x1.e2fb58p-1f, 0x1.f44e8ap-1f,
     0x1.fba37ep-1f, 0x1.fe89d8p-1f, 0x1.ffa884p-1f, 0x1.ffe88ap-1f, 0x1.fffb28p-1f, 0x1.ffff04p-1f,
     0x1.ffffep-1f, 0x1.fffffcp-1f, 0x1p+0f},
    {0x1.20dd76p+0f, 0x1.0d846cp+0f, 0x1.afc2dcp-1f, 0x1.3ac46cp-1f, 0x1.70524p-2f, 0x1.77ea4cp-3f,
     0x1.5a9922p-4f, 0x1.225c8ep-5f, 0x1.b035a6p-7f, 0x1.c4c7dap-9f, 0x1.086ea2p-10f, 0x1.dc488ep-13f,
     0x1.a14ae2p-15f, 0x1.ccbd3ep-18f, 0x1.ef8932p-21f, 0x1.f43802p-24f},
    {0x1.54b654p-22f, -0x1.1bd9b2p-2f, -0x1.d200e4p-2f, -0x1.ea945ap-2f, -0x1.89d45ep-2f, -0x1.fa96ecp-3f,
     -0x1.16ec34p-3f, -0x1.0e13a4p-4f, -0x1.c7d2e4p-6f, -0x1.10561ap-7f, -0x1.5e4528p-9f, -0x1.5b4cc6p-11f,
     -0x1.4a51ecp-13f, -0x1.8ef5a4p-16f, -0x1.cf8d54p-19f, -0x1.f5367cp-22f},
    {-0x1.812bd6p-2f, -0x1.358c6ep-2f, -0x1.e0f85ep-4f, 0x1.68643ap-5f, 0x1.3bedb6p-3f, 0x1.49e6p-3f,
     0x1.e31f16p-4f, 0x1.1e8de6p-4f, 0x1.1c7f98p-5f, 0x1.8ef682p-7f, 0x1.1f6bd8p-8f, 0x1.3e073ap-10f,
     0x1.4c0cbp-12f, 0x1.b8af62p-15f, 0x1.1519e2p-17f, 0x1.41aa1p-20f},
    {0x1.4d786ep-12f, 0x1.0c93dep-3f, 0x1.753742p-3f, 0x1.22f4d4p-3f, 0x1.78d476p-5f, -0x1.a3b394p-6f,
     -0x1.92d4a2p-5f, -0x1.600b94p-5f, -0x1.c0a68ep-6f, -0x1.878d18p-7f, -0x1.45ae9p-8f, -0x1.9c5652p-10f,
     -0x1.dd7c64p-12f, -0x1.66a03ep-14f, -0x1.ee6b04p-17f, -0x1.3841a2p-19f},
    {0x1.c5f0f8p-4f, 0x1.3c2ba6p-4f, -0x1.e296aap-11f, -0x1.e44a18p-5f, -0x1.0de1dep-4f, -0x1.2e62dcp-5f,
     -0x1.53db82p-8f, 0x1.644878p-7f, 0x1.974e78p-7f, 0x1.0888cp-7f, 0x1.f68d4p-9f, 0x1.77938ep-10f,
     0x1.c868d2p-12f, 0x1.caf07ep-14f, 0x1.824dc2p-16f, 0x1.1204f2p-18f},
};

/* a exp(a^2 / 2) (1 - Phi(a)), for the 4 quarters of each power of two of a + 1 from 1 to 16, first those
 * from 2 on: the index is bits 21 to 24 of a + 1. Relative error below 2^-28. */
static const float normal_tail_table[8][16] = {
    {0x1.43258cp+0f, 0x1.be2fcap+0f, 0x1.250a3ep+1f, 0x1.5d3a06p+1f, 0x1.c6c5fap+1f, 0x1.1e740ep+2f,
     0x1.62da74p+2f, 0x1.9cbf26p+2f, 0x1.fa2fcap+2f, 0x1.42f5c2p+3f, 0x1.7fa06ep+3f, 0x1.be51ecp+3f, 0,
     0x1.970a3ep-2f, 0x1.347ae2p-1f, 0x1.bf5c28p-1f},
    {0x1.2887fep-2f, 0x1.4b8a1cp-2f, 0x1.635b6ap-2f, 0x1.6f9f86p-2f, 0x1.7dd228p-2f, 0x1.869a92p-2f,
     0x1.8c5a16p-2f, 0x1.8f547ap-2f, 0x1.9246e8p-2f, 0x1.949e74p-2f, 0x1.95bb58p-2f, 0x1.9672dp-2f, 0,
     0x1.3062ep-3f, 0x1.94861ep-3f, 0x1.f4fa46p-3f},
    {0x1.7639cp-4f, 0x1.c0726ep-5f, 0x1.0c239ap-5f, 0x1.72bc42p-6f, 0x1.93c958p-7f, 0x1.c5fae2p-8f,
     0x1.023846p-8f, 0x1.55faep-9f, 0x1.827332p-10f, 0x1.8092d6p-11f, 0x1.d24e2p-12f, 0x1.2b31bep-12f,
     0x1p-1f, 0x1.18fcbp-2f, 0x1.a6df28p-3f, 0x1.2935fep-3f},
    {-0x1.a78106p-5f, -0x1.c20862p-6f, -0x1.d95f56p-7f, -0x1.291c4cp-7f, -0x1.11ecbcp-8f, -0x1.04f048p-9f,
     -0x1.f59834p-11f, -0x1.24b9a8p-11f, -0x1.14aefp-12f, -0x1.b8b8fp-14f, -0x1.c684b2p-15f, -0x1.f8b5b4p-16f,
     -0x1.98844p-2f, -0x1.90f48cp-3f, -0x1.1d1ea8p-3f, -0x1.746c9ep-4f},
    {0x1.880ae4p-6f, 0x1.75f7cep-7f, 0x1.5e1176p-8f, 0x1.921cfp-9f, 0x1.3d78fap-10f, 0x1.02abeap-11f,
     0x1.a7537cp-13f, 0x1.b570fp-14f, 0x1.5b82e2p-15f, 0x1.bd0bd4p-17f, 0x1.874ae4p-18f, 0x1.789372p-19f,
     0x1.fff918p-3f, 0x1.c7b86ep-4f, 0x1.34590cp-4f, 0x1.797baep-5f},
    {-0x1.3d1dbap-7f, -0x1.1225a4p-8f, -0x1.ccabccp-10f, -0x1.e78d54p-11f, -0x1.4c4e4ep-12f, -0x1.d3b5f2p-14f,
     -0x1.47b736p-15f, -0x1.2d4a42p-16f, -0x1.94b99p-18f, -0x1.a1668cp-20f, -0x1.39e19ep-21f,
     -0x1.063ab6p-22f, -0x1.0fe1aep-3f, -0x1.bbf3dap-5f, -0x1.1f4dc8p-5f, -0x1.4ba6b6p-6f},
    {0x1.d4dedcp-9f, 0x1.71346ap-10f, 0x1.179798p-11f, 0x1.11f7bap-12f, 0x1.4a0642p-14f, 0x1.919916p-16f,
     0x1.e33f1cp-18f, 0x1.8b1e28p-19f, 0x1.c9c742p-21f, 0x1.7c0c5p-23f, 0x1.e75572p-25f, 0x1.60807p-26f,
     0x1.f16c54p-5f, 0x1.81db5ep-6f, 0x1.df5b46p-7f, 0x1.066b1ep-7f},
    {-0x1.45bb4ep-10f, -0x1.c39758p-12f, -0x1.5362c6p-13f, -0x1.15078ep-14f, -0x1.4a49fap-16f,
     -0x1.3956ccp-18f, -0x1.628b5p-20f, -0x1.d4a362p-22f, -0x1.c47f7ap-24f, -0x1.602172p-26f, -0x1.670b4p-28f,
     -0x1.bab2bcp-30f, -0x1.46b1bep-6f, -0x1.450bc4p-7f, -0x1.5ae91p-8f, -0x1.7b22c2p-9f},
};

/* tanh(a), for the 4 quarters of each power of two of 1.65 a + 1 from 1 to 16, in the same order. Relative error below
 * 2^-25.3. */
static const float tanh_table[7][16] = {
    {0x1.83e962p-1f, 0x1.0f1bf8p+0f, 0x1.5cc444p+0f, 0x1.aa70e6p+0f, 0x1.0f73ccp+1f, 0x1.5d4c3ap+1f,
     0x1.aa7064p+1f, 0x1.f7b0b4p+1f, 0x1.367b2cp+2f, 0x1.834b2ep+2f, 0x1.d1cb7ep+2f, 0x1.0ff372p+3f, 0,
     0x1.d0fe6cp-3f, 0x1.84720cp-2f, 0x1.0fa288p-1f},
    {0x1.4784c2p-1f, 0x1.92115cp-1f, 0x1.c0fe7cp-1f, 0x1.dcab04p-1f, 0x1.f17a12p-1f, 0x1.fba738p-1f,
     0x1.feb1ap-1f, 0x1.ff9be8p-1f, 0x1.ffeffap-1f, 0x1.fffe8cp-1f, 0x1.ffffep-1f, 0x1.fffffep-1f, 0,
     0x1.c92a3cp-3f, 0x1.72d398p-2f, 0x1.f1734cp-2f},
    {0x1.2e7dcap-1f, 0x1.88857ap-2f, 0x1.d908a2p-3f, 0x1.10e72ep-3f, 0x1.ca264cp-5f, 0x1.1503c4p-6f,
     0x1.4df2ep-8f, 0x1.9038dcp-10f, 0x1.00632cp-12f, 0x1.7403acp-16f, 0x1.000822p-19f, 0x1.64b598p-23f,
     0x1p+0f, 0x1.e67cc2p-1f, 0x1.bcdaf6p-1f, 0x1.872be4p-1f},
    {-0x1.82ff8cp-2f, -0x1.343f4p-2f, -0x1.9ed404p-3f, -0x1.fc24eap-4f, -0x1.bd2388p-5f, -0x1.12a114p-6f,
     -0x1.4d0beap-8f, -0x1.8fda64p-10f, -0x1.ff4874p-13f, -0x1.73002ap-16f, -0x1.fe9f56p-20f,
     -0x1.6b9cacp-21f, 0x1.b30384p-21f, -0x1.b2620cp-3f, -0x1.4231d4p-2f, -0x1.7c0e08p-2f},
    {0x1.6f1b92p-5f, 0x1.bcdefp-4f, 0x1.9c3314p-4f, 0x1.23248ep-4f, 0x1.17d5c8p-5f, 0x1.67eff4p-7f,
     0x1.b9d1f2p-9f, 0x1.0a32ep-10f, 0x1.54939cp-13f, 0x1.ef37f6p-17f, 0x1.54163ep-20f, 0x1.e8720ap-25f,
     -0x1.5561dcp-2f, -0x1.13d9f4p-2f, -0x1.67cbfp-3f, -0x1.30a05ap-4f},
    {0x1.8e900ep-4f, 0x1.00970ep-6f, -0x1.4dbe2p-6f, -0x1.94f5aep-6f, -0x1.f02c64p-7f, -0x1.605724p-8f,
     -0x1.bc5f06p-10f, -0x1.0dd9b2p-11f, -0x1.6d6f16p-14f, -0x1.0954ecp-17f, -0x1.6d4e2ep-21f,
     0x1.6e67c4p-20f, 0x1.b675d6p-11f, 0x1.0ae6b4p-3f, 0x1.57f802p-3f, 0x1.46a4bep-3f},
    {-0x1.03276p-4f, -0x1.42fe7ep-5f, -0x1.53cdcap-7f, 0x1.2c2bbcp-9f, 0x1.2352dcp-8f, 0x1.05dd9p-9f,
     0x1.5a9cf6p-11f, 0x1.a942c2p-13f, 0x1.2568cap-15f, 0x1.a090a8p-19f, 0x1.27263p-22f, 0x1.592dep-22f,
     0x1.070ceep-3f, 0x1.52dd6p-4f, 0x1.24ba58p-6f, -0x1.20aa9p-5f},
};

/* Phi(z), the normal distribution, for z from -5.275 to 0. Interval k is where z (0.34375 z - 1.125) rounds to k: narrower
 * where the function falls faster. These and the next two: least squares weighted towards the largest relative error, in 50
 * digits, coefficient by coefficient, each rounded before the next is found. Relative error below 2^-25. */
static const float normal_table[8][16] = {
    {0, -0x1.69e7cap-1f, -0x1.44835p+0f, -0x1.bbf1fep+0f, -0x1.12359ep+1f, -0x1.415136p+1f, -0x1.6c8c8ap+1f,
     -0x1.949f6ep+1f, -0x1.ba6398p+1f, -0x1.ddf34ap+1f, -0x1.ffd23ap+1f, -0x1.1017b8p+2f, -0x1.1f9a66p+2f,
     -0x1.2e7eecp+2f, -0x1.3cd668p+2f, -0x1.4ad32ep+2f},
    {0x1p-1f, 0x1.eb2c7ap-3f, 0x1.a3b2a6p-4f, 0x1.5383eap-5f, 0x1.078e8cp-6f, 0x1.8b494p-8f, 0x1.204a36p-9f,
     0x1.9c0076p-11f, 0x1.1f44bap-12f, 0x1.8b4138p-14f, 0x1.0b401p-15f, 0x1.645628p-17f, 0x1.d584d2p-19f,
     0x1.3296cp-20f, 0x1.8d3b66p-22f, 0x1.f90886p-24f},
    {0x1.988456p-2f, 0x1.3e363ap-2f, 0x1.6ddb18p-3f, 0x1.6b4752p-4f, 0x1.496b7cp-5f, 0x1.17dfeap-6f,
     0x1.c4efecp-8f, 0x1.61a01cp-9f, 0x1.0a7264p-10f, 0x1.888df2p-12f, 0x1.1a3c14p-13f, 0x1.8dd658p-15f,
     0x1.13befep-16f, 0x1.794926p-18f, 0x1.fe50eap-20f, 0x1.51c1fcp-21f},
    {0x1.004d62p-19f, 0x1.c1da74p-4f, 0x1.cfc4fp-4f, 0x1.3afde8p-4f, 0x1.60da0ap-5f, 0x1.5f4892p-6f,
     0x1.427ee4p-7f, 0x1.177674p-8f, 0x1.cc712cp-10f, 0x1.6e72cp-11f, 0x1.1a22dp-12f, 0x1.a6d89p-14f,
     0x1.35c95ep-15f, 0x1.bdcf3ep-17f, 0x1.3bcb8cp-18f, 0x1.b47a8ep-20f},
    {-0x1.1038acp-4f, -0x1.a89d28p-6f, 0x1.27ff94p-6f, 0x1.e62328p-6f, 0x1.8a21a2p-6f, 0x1.ee9888p-7f,
     0x1.0c6b3ap-7f, 0x1.0900b2p-8f, 0x1.e60acp-10f, 0x1.a7632ep-11f, 0x1.60866ap-12f, 0x1.1b08dap-13f,
     0x1.b90c9ep-15f, 0x1.4f7466p-16f, 0x1.f3d74ap-18f, 0x1.69f2a2p-19f},
    {0x1.cf7f9p-13f, -0x1.76d61ep-6f, -0x1.aeb1dp-7f, 0x1.8895f8p-15f, 0x1.75d748p-8f, 0x1.8290fp-8f,
     0x1.12be5ep-8f, 0x1.45b176p-9f, 0x1.5735e8p-10f, 0x1.4e2c7p-11f, 0x1.3167e8p-12f, 0x1.099bc6p-13f,
     0x1.bbec14p-15f, 0x1.67481cp-16f, 0x1.1b0beep-17f, 0x1.af6fa6p-19f},
    {0x1.62109ap-7f, 0x1.67a0dap-11f, -0x1.86694ap-8f, -0x1.218ccap-8f, -0x1.34d9ep-10f, 0x1.672a9ap-11f,
     0x1.2dffa2p-10f, 0x1.f9221ap-11f, 0x1.493fb8p-11f, 0x1.750d98p-12f, 0x1.80273ep-13f, 0x1.7099acp-14f,
     0x1.4ead0cp-15f, 0x1.232e52p-16f, 0x1.e8f6cep-18f, 0x1.8abc0ep-19f},
    {0x1.9a34dap-10f, 0x1.8fae76p-9f, 0x1.e75866p-12f, -0x1.4ee158p-10f, -0x1.321f7cp-10f, -0x1.fcf5dcp-12f,
     -0x1.0869bp-16f, 0x1.739486p-13f, 0x1.8aac6p-13f, 0x1.1abc2cp-13f, 0x1.57e072p-14f, 0x1.7832eap-15f,
     0x1.789488p-16f, 0x1.64d30cp-17f, 0x1.41977ap-18f, 0x1.15ef14p-19f},
};

/* sigmoid(2 sqrt(2 / pi) (z + 0.044715 z^3)) for z from -4.8 to 0; interval k: z (0.4375 z - 1.125) rounds to k. Relative error
 * below 2^-25.2. */
static const float gelu_tanh_table[8][16] = {
    {0, -0x1.5ad884p-1f, -0x1.32d3b2p+0f, -0x1.9fe64cp+0f, -0x1.fee268p+0f, -0x1.29efb2p+1f, -0x1.50ebbap+1f,
     -0x1.74f114p+1f, -0x1.96abf6p+1f, -0x1.b6a638p+1f, -0x1.d4f424p+1f, -0x1.f1dd84p+1f, -0x1.06c774p+2f,
     -0x1.141db6p+2f, -0x1.20fc6ap+2f, -0x1.2d4dfep+2f},
    {0x1p-1f, 0x1.fe3c8cp-3f, 0x1.d936e4p-4f, 0x1.abdd82p-5f, 0x1.77d63p-6f, 0x1.418cdap-7f, 0x1.0a4bf8p-8f,
     0x1.acab26p-10f, 0x1.4de64p-11f, 0x1.f47118p-13f, 0x1.6ac1bap-14f, 0x1.fba82cp-16f, 0x1.56e076p-17f,
     0x1.bdfac2p-19f, 0x1.179942p-20f, 0x1.5670a6p-22f},
    {0x1.988456p-2f, 0x1.44804cp-2f, 0x1.8e4d2ep-3f, 0x1.b61d16p-4f, 0x1.c186c8p-5f, 0x1.b6acbp-6f,
     0x1.9848fep-7f, 0x1.6d2966p-8f, 0x1.3960e6p-9f, 0x1.01062ap-10f, 0x1.954368p-12f, 0x1.32c2f8p-13f,
     0x1.be2124p-15f, 0x1.3714eap-16f, 0x1.a09f8p-18f, 0x1.0f65ep-19f},
    {0x1.01f4c8p-19f, 0x1.b87c3ap-4f, 0x1.db87bcp-4f, 0x1.615f38p-4f, 0x1.be9adep-5f, 0x1.009abp-5f,
     0x1.125aacp-6f, 0x1.15303ep-7f, 0x1.09903cp-8f, 0x1.e20508p-10f, 0x1.a126f6p-11f, 0x1.584e1cp-12f,
     0x1.0f6644p-13f, 0x1.983aecp-15f, 0x1.258222p-16f, 0x1.989e54p-18f},
    {-0x1.119152p-4f, -0x1.cf0d6p-6f, 0x1.d637eap-7f, 0x1.d6b706p-6f, 0x1.b524d8p-6f, 0x1.3fda7cp-6f,
     0x1.9aaed2p-7f, 0x1.e29e0ep-8f, 0x1.07aa8ep-8f, 0x1.0d3dfep-9f, 0x1.0341b2p-10f, 0x1.d7e18p-12f,
     0x1.96fe66p-13f, 0x1.4cc4f6p-14f, 0x1.029f8ep-15f, 0x1.82f5ep-17f},
    {0x1.d9a906p-13f, -0x1.78a044p-6f, -0x1.e5f23p-7f, -0x1.394d74p-9f, 0x1.16c23ap-8f, 0x1.86b01cp-8f,
     0x1.59920ep-8f, 0x1.f9f4eap-9f, 0x1.48dacp-9f, 0x1.8523d6p-10f, 0x1.aa3122p-11f, 0x1.b30844p-12f,
     0x1.a0390cp-13f, 0x1.76288p-14f, 0x1.3d4004p-15f, 0x1.010ee2p-16f},
    {0x1.6a5dfp-7f, 0x1.15318p-10f, -0x1.7d187p-8f, -0x1.45548ep-8f, -0x1.17b094p-9f, -0x1.abc866p-14f,
     0x1.bcb17p-11f, 0x1.17f7cp-10f, 0x1.ec7ffp-11f, 0x1.6a6908p-11f, 0x1.d79d02p-12f, 0x1.16ab8p-12f,
     0x1.2eaeep-13f, 0x1.309eeap-14f, 0x1.1df6d8p-15f, 0x1.fbcc56p-17f},
    {0x1.aa3d02p-10f, 0x1.a569e4p-9f, 0x1.6b6c6ep-11f, -0x1.20f37cp-10f, -0x1.432342p-10f, -0x1.8869c4p-11f,
     -0x1.28acbcp-12f, -0x1.66a05ap-18f, 0x1.2288fp-13f, 0x1.77e3aep-13f, 0x1.45723p-13f, 0x1.e1513p-14f,
     0x1.33b71cp-14f, 0x1.62cc92p-15f, 0x1.79a8f2p-16f, 0x1.72b81ap-17f},
};

/* sigmoid(z) for z from -9.3 to 0, interval k around -0.6 k. Relative error below 2^-24.4. */
static const float sigmoid_table[7][16] = {
    {0, -0x1.333ca6p-1f, -0x1.332976p+0f, -0x1.ccdd1ap+0f, -0x1.331d2ap+1f, -0x1.7ff986p+1f, -0x1.ccbfdep+1f,
     -0x1.0cc718p+2f, -0x1.3321eep+2f, -0x1.59ab9cp+2f, -0x1.80171cp+2f, -0x1.a666d4p+2f, -0x1.ccda5cp+2f,
     -0x1.f32a5cp+2f, -0x1.0ccdacp+3f, -0x1.2005dp+3f},
    {0x1p-1f, 0x1.6ad4cp-2f, 0x1.da1d8ap-3f, 0x1.2272fp-3f, 0x1.54e2aep-4f, 0x1.8495fep-5f, 0x1.b3eebep-6f,
     0x1.e44818p-7f, 0x1.0bc03cp-7f, 0x1.265872p-8f, 0x1.43a2dp-9f, 0x1.641e5ap-10f, 0x1.86cf86p-11f,
     0x1.adb1aap-12f, 0x1.d76cbep-13f, 0x1.0297fap-13f},
    {0x1.fffffep-3f, 0x1.d48a4cp-3f, 0x1.6c5b5cp-3f, 0x1.f283bcp-4f, 0x1.388402p-4f, 0x1.722748p-5f,
     0x1.a8556ap-6f, 0x1.dd1fd6p-7f, 0x1.099026p-7f, 0x1.250602p-8f, 0x1.42d63cp-9f, 0x1.63a27ep-10f,
     0x1.8684fp-11f, 0x1.ad8492p-12f, 0x1.d7519ap-13f, 0x1.028fcep-13f},
    {-0x1.5005a8p-21f, 0x1.10ff9ap-5f, 0x1.874f76p-5f, 0x1.651e4ap-5f, 0x1.04806ep-5f, 0x1.4f0a4ep-6f,
     0x1.91c112p-7f, 0x1.cf0546p-8f, 0x1.0538cep-8f, 0x1.2263aap-9f, 0x1.413d7p-10f, 0x1.62aa58p-11f,
     0x1.85eefep-12f, 0x1.ad2972p-13f, 0x1.d71a3cp-14f, 0x1.027edcp-14f},
    {-0x1.55791ep-6f, -0x1.d1955cp-7f, -0x1.062682p-9f, 0x1.668efap-8f, 0x1.c3d68ep-8f, 0x1.67b9fep-8f,
     0x1.dddb6p-9f, 0x1.224c1ap-9f, 0x1.50df7ep-10f, 0x1.7c38d2p-11f, 0x1.a818f8p-12f, 0x1.d655d6p-13f,
     0x1.033066p-13f, 0x1.1da712p-14f, 0x1.39cc16p-15f, 0x1.588166p-16f},
    {-0x1.995fd2p-15f, -0x1.39149ap-8f, -0x1.2632b2p-8f, -0x1.ba4c8cp-10f, 0x1.b322f4p-13f, 0x1.955bacp-11f,
     0x1.707c16p-11f, 0x1.fdfe4cp-12f, 0x1.3b31d4p-12f, 0x1.6f98e2p-13f, 0x1.a12fcep-14f, 0x1.d3008ap-15f,
     0x1.02ab06p-15f, 0x1.1ddd3cp-16f, 0x1.3a82d6p-17f, 0x1.599454p-18f},
    {0x1.02e968p-9f, 0x1.987fap-11f, -0x1.9d302p-11f, -0x1.cb7242p-11f, -0x1.86971ep-12f, -0x1.5e4c7ep-15f,
     0x1.10c768p-14f, 0x1.29e90ep-14f, 0x1.af358ap-15f, 0x1.0ede82p-15f, 0x1.3e56b8p-16f, 0x1.6a6f72p-17f,
     0x1.963e98p-18f, 0x1.c2353p-19f, 0x1.f1df2ep-20f, 0x1.11c19cp-20f},
};

/* clang-format on */

#endif
