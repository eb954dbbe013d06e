/* Logarithms of weighted sums of Gaussian densities over a minibatch, and their gradient, one model after the other.

   z, mean, log_variance: (models, size, latents). weights: (size, size), row i for the point z_i. Blocks of latents lie
   end to end in `members`, block b from starts[b] to starts[b + 1]. For every model, block S and point i,
       log_q[S][i] = log sum_j weights[i][j] prod_{k in S} N(z_ik; mean_jk, exp(log_variance_jk)),
   where z_i was drawn from density i: its own term is the shift that keeps the exponentials in range.
   All that a model needs stays near the core; no (size, size) array exists. Densities come from differences, so nothing
   cancels. A model is the work of one thread: its numbers do not depend on its neighbours. Logarithms are to base 2.

   Compiled at run time by kernels/build.py, called by kernels/batch.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Floats in a register: wider vectors than the machine has are spilled to memory. */
#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX__)
#define WIDTH 8
#else
#define WIDTH 4
#endif

#define LN_2 0.693147180559945309f
#define LOG2_E 1.44269504088896341f
#define ROOT_HALF_LOG2_E 0.849321800288019f
#define HALF_LOG_2PI 0.918938533204672742f

typedef float many __attribute__((vector_size(4 * WIDTH)));
typedef int32_t many_bits __attribute__((vector_size(4 * WIDTH)));

static inline many choose(many_bits where, float a, many b) {
    many all_a = (many){0} + a;
    return (many)(((many_bits)all_a & where) | ((many_bits)b & ~where));
}

/* 2^x to 2e-7 for x in [-90, 90] and the nearer end outside; NaN stays NaN. Nothing smaller than 2^-90, so that no
   product with it is subnormal, which would cost a hundred times as much. */
static inline many power_of_2(many x) {
    const float to_integer = 12582912.0f; /* 1.5 * 2^23: adding it rounds, and leaves the integer in the low bits */
    x = choose(x < -90.0f, -90.0f, x);
    x = choose(x > 90.0f, 90.0f, x);
    many shifted = x + to_integer;
    many r = x - (shifted - to_integer);
    many p = 1.3276599603e-03f * r + 9.6755403168e-03f;
    p = p * r + 5.5507128665e-02f;
    p = p * r + 2.4022119759e-01f;
    p = p * r + 6.9314696730e-01f;
    p = p * r + 1.0000000716e+00f;
    return (many)((many_bits)p + ((many_bits)shifted << 23));
}

static inline float total_of(many values) {
    float total = 0.0f;
    for (int lane = 0; lane < WIDTH; lane++) total += values[lane];
    return total;
}

/* One model's densities, latent by latent, WIDTH data points a tile: log2 N(z_k) = -((z_k - mean) * scale)^2 - offset. */
typedef struct {
    int64_t size, latents, tiles;
    many *mean, *scale, *offset; /* (latents, tiles) */
    many *weights;               /* (size, tiles), zero beyond the data */
} Batch;

static void lay_out_weights(Batch *b, const float *weights) {
    memset(b->weights, 0, b->size * b->tiles * sizeof(many));
    for (int64_t i = 0; i < b->size; i++) memcpy(b->weights + i * b->tiles, weights + i * b->size, b->size * sizeof(float));
}

static void lay_out_model(Batch *b, const float *mean, const float *log_variance) {
    memset(b->mean, 0, 3 * b->latents * b->tiles * sizeof(many));
    for (int64_t k = 0; k < b->latents; k++) {
        float *m = (float *)(b->mean + k * b->tiles), *s = (float *)(b->scale + k * b->tiles);
        float *o = (float *)(b->offset + k * b->tiles);
        for (int64_t j = 0; j < b->size; j++) {
            float l = log_variance[j * b->latents + k];
            m[j] = mean[j * b->latents + k];
            s[j] = ROOT_HALF_LOG2_E * expf(-0.5f * l);
            o[j] = LOG2_E * (0.5f * l + HALF_LOG_2PI);
        }
    }
}

static float own_log2(const Batch *b, const float *z, int64_t i, const int64_t *block, int64_t length) {
    float sum = 0.0f;
    for (int64_t m = 0; m < length; m++) {
        int64_t at = block[m] * b->tiles;
        float d = (z[block[m]] - ((float *)(b->mean + at))[i]) * ((float *)(b->scale + at))[i];
        sum -= d * d + ((float *)(b->offset + at))[i];
    }
    return sum;
}

/* The density of a block over 2^shift, from the logarithms of its latents' densities. */
static inline many ratio(const many *each, const int64_t *block, int64_t length, float shift) {
    many sum = each[block[0]] - shift;
    for (int64_t m = 1; m < length; m++) sum += each[block[m]];
    return power_of_2(sum);
}

static many *room_for(int64_t count) { return aligned_alloc(sizeof(many), count * sizeof(many)); }

static Batch place(many *room, int64_t size, int64_t latents, int64_t tiles) {
    int64_t plane = latents * tiles;
    return (Batch){size, latents, tiles, room, room + plane, room + 2 * plane, room + 3 * plane};
}

int forward(const float *z, const float *mean, const float *log_variance, const float *weights,
            const int64_t *members, const int64_t *starts, int64_t models, int64_t size, int64_t latents,
            int64_t blocks, float *log_q) {
    int failed = 0;
    int64_t tiles = (size + WIDTH - 1) / WIDTH;
#pragma omp parallel
    {
        many *room = room_for((3 * latents + size) * tiles + latents + blocks);
        Batch b = place(room, size, latents, tiles);
        many *each = b.weights + size * tiles, *total = each + latents;
        float own[blocks];
        if (room) lay_out_weights(&b, weights);
        else failed = 1;
#pragma omp for
        for (int64_t e = 0; e < models; e++) {
            if (!room) continue;
            lay_out_model(&b, mean + e * size * latents, log_variance + e * size * latents);
            for (int64_t i = 0; i < size; i++) {
                const float *point = z + (e * size + i) * latents;
                for (int64_t s = 0; s < blocks; s++) {
                    own[s] = own_log2(&b, point, i, members + starts[s], starts[s + 1] - starts[s]);
                    total[s] = (many){0};
                }
                for (int64_t t = 0; t < tiles; t++) {
                    for (int64_t k = 0; k < latents; k++) {
                        many d = (point[k] - b.mean[k * tiles + t]) * b.scale[k * tiles + t];
                        each[k] = -d * d - b.offset[k * tiles + t];
                    }
                    many weight = b.weights[i * tiles + t];
                    for (int64_t s = 0; s < blocks; s++) {
                        total[s] += weight * ratio(each, members + starts[s], starts[s + 1] - starts[s], own[s]);
                    }
                }
                for (int64_t s = 0; s < blocks; s++)
                    log_q[(e * blocks + s) * size + i] = LN_2 * (own[s] + log2f(total_of(total[s])));
            }
        }
        free(room);
    }
    return failed;
}

/* The gradients of sum(grad_log_q * log_q). */
int backward(const float *grad_log_q, const float *log_q, const float *z, const float *mean, const float *log_variance,
             const float *weights, const int64_t *members, const int64_t *starts, int64_t models, int64_t size,
             int64_t latents, int64_t blocks, float *grad_z, float *grad_mean, float *grad_log_variance) {
    int failed = 0;
    int64_t tiles = (size + WIDTH - 1) / WIDTH, plane = latents * tiles;
#pragma omp parallel
    {
        many *room = room_for((5 * latents + size) * tiles + 4 * latents);
        Batch b = place(room, size, latents, tiles);
        many *to_mean = b.weights + size * tiles, *to_log_variance = to_mean + plane;
        many *each = to_log_variance + plane, *d = each + latents, *share = d + latents, *to_z = share + latents;
        if (room) lay_out_weights(&b, weights);
        else failed = 1;
#pragma omp for
        for (int64_t e = 0; e < models; e++) {
            if (!room) continue;
            lay_out_model(&b, mean + e * size * latents, log_variance + e * size * latents);
            memset(to_mean, 0, 2 * plane * sizeof(many));
            for (int64_t i = 0; i < size; i++) {
                const float *point = z + (e * size + i) * latents;
                memset(to_z, 0, latents * sizeof(many));
                for (int64_t t = 0; t < tiles; t++) {
                    for (int64_t k = 0; k < latents; k++) {
                        d[k] = (point[k] - b.mean[k * tiles + t]) * b.scale[k * tiles + t];
                        each[k] = -d[k] * d[k] - b.offset[k * tiles + t];
                        share[k] = (many){0};
                    }
                    many weight = b.weights[i * tiles + t];
                    for (int64_t s = 0; s < blocks; s++) {
                        int64_t at = (e * blocks + s) * size + i;
                        many part = ratio(each, members + starts[s], starts[s + 1] - starts[s], LOG2_E * log_q[at]);
                        part *= grad_log_q[at] * weight;
                        for (int64_t m = starts[s]; m < starts[s + 1]; m++) share[members[m]] += part;
                    }
                    for (int64_t k = 0; k < latents; k++) {
                        many pull = share[k] * d[k] * b.scale[k * tiles + t];
                        to_z[k] -= pull;
                        to_mean[k * tiles + t] += pull;
                        to_log_variance[k * tiles + t] += share[k] * (LN_2 * d[k] * d[k] - 0.5f);
                    }
                }
                for (int64_t k = 0; k < latents; k++)
                    grad_z[(e * size + i) * latents + k] = 2.0f * LN_2 * total_of(to_z[k]);
            }
            for (int64_t j = 0; j < size; j++)
                for (int64_t k = 0; k < latents; k++) {
                    int64_t to = (e * size + j) * latents + k, from = k * tiles * WIDTH + j;
                    grad_mean[to] = 2.0f * LN_2 * ((float *)to_mean)[from];
                    grad_log_variance[to] = ((float *)to_log_variance)[from];
                }
        }
        free(room);
    }
    return failed;
}
