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

/* clang-format on */

#endif
