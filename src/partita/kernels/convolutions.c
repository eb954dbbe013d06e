/* Convolutions of kernel 4, stride 2, padding 1, their transposes and the gradients of their weights, for many models.

   Channels last: big (models, images, 2S, 2S, C), small (models, images, S, S, D), weights (models, 16, C, D), D a
   multiple of 16. An image is copied into a frame with a border of zeros, where the 4 x 4 patch of a small pixel is four
   runs of 4C numbers; what is left are products of small matrices whose sums stay in registers. The work is cut into
   images, or for weights into rows of taps, and never by the number of threads: numbers depend on nothing else.

   Compiled at run time by kernels/build.py, called by kernels/convolutions.py. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Floats in a register, and rows of a product taken at once, so that all sums stay in registers. */
#if defined(__AVX512F__)
#define WIDTH 16
#define ROWS 8
#elif defined(__AVX__)
#define WIDTH 8
#define ROWS 4
#else
#define WIDTH 4
#define ROWS 2
#endif
#define COLUMNS 16
#define VECTORS (COLUMNS / WIDTH)

typedef float many __attribute__((vector_size(4 * WIDTH), aligned(4)));
typedef struct {
    many at[ROWS][VECTORS];
} Sums;

#define EACH_ROW for (int r = 0; r < ROWS; r++)
#define EACH_VECTOR for (int v = 0; v < VECTORS; v++)
#define INLINE static inline __attribute__((always_inline))

INLINE many load(const float *from) { return *(const many *)from; }
INLINE void store(float *to, many values) { *(many *)to = values; }

/* sums[r] += sum_k a[r][k] b[k], b a matrix of rows `stride` apart. */
INLINE void add_products(Sums *sums, const float *const *a, int64_t count, const float *b, int64_t stride) {
    for (int64_t k = 0; k < count; k++) {
        many row[VECTORS];
#pragma GCC unroll 4
        EACH_VECTOR row[v] = load(b + k * stride + v * WIDTH);
#pragma GCC unroll 8
        EACH_ROW {
            float value = a[r][k];
#pragma GCC unroll 4
            EACH_VECTOR sums->at[r][v] += value * row[v];
        }
    }
}

static float *room_for(int64_t floats) { return aligned_alloc(64, (floats * sizeof(float) + 127) / 64 * 64); }

/* The side of a frame, and where the patch of small pixel p begins in it, in pixels. */
static inline int64_t framed(int64_t side) { return 2 * side + 2; }
static inline int64_t corner(int64_t p, int64_t side) { return 2 * (p / side) * framed(side) + 2 * (p % side); }

static void frame(const float *big, int64_t side, int64_t channels, float *into) {
    int64_t width = framed(side) * channels, inner = 2 * side * channels;
    for (int64_t y = 0; y < 2 * side; y++)
        memcpy(into + (y + 1) * width + channels, big + y * inner, inner * sizeof(float));
}

static inline float rectified(float value, int relu) { return relu && value < 0.0f ? 0.0f : value; }

int halve(const float *big, const float *weights, const float *bias, int64_t models, int64_t images, int64_t side,
          int64_t wide, int64_t narrow, int64_t relu, float *small) {
    int failed = 0;
    int64_t pixels = side * side, width = framed(side) * wide, area = framed(side) * width;
#pragma omp parallel
    {
        float *image = room_for(area);
        if (image) memset(image, 0, area * sizeof(float));
        else failed = 1;
#pragma omp for
        for (int64_t n = 0; n < models * images; n++) {
            if (!image) continue;
            const float *weight = weights + n / images * 16 * wide * narrow;
            const float *own = bias ? bias + n / images * narrow : NULL;
            frame(big + n * 4 * pixels * wide, side, wide, image);
            for (int64_t first = 0; first < pixels; first += ROWS) {
                int64_t taken = pixels - first < ROWS ? pixels - first : ROWS;
                int64_t corners[ROWS];
                EACH_ROW corners[r] = corner(first + (r < taken ? r : 0), side) * wide;
                for (int64_t column = 0; column < narrow; column += COLUMNS) {
                    Sums sums;
                    EACH_ROW EACH_VECTOR
                        sums.at[r][v] = own ? load(own + column + v * WIDTH) : (many){0};
                    for (int64_t i = 0; i < 4; i++) {
                        const float *a[ROWS];
                        EACH_ROW a[r] = image + corners[r] + i * width;
                        add_products(&sums, a, 4 * wide, weight + i * 4 * wide * narrow + column, narrow);
                    }
                    float *to = small + (n * pixels + first) * narrow + column;
                    for (int64_t r = 0; r < taken; r++)
                        EACH_VECTOR store(to + r * narrow + v * WIDTH, sums.at[r][v]);
                }
            }
            if (relu)
                for (int64_t p = n * pixels * narrow; p < (n + 1) * pixels * narrow; p++)
                    small[p] = rectified(small[p], 1);
        }
        free(image);
    }
    return failed;
}

/* Rows of weights as columns, a model after the other. */
static void transpose(const float *weights, int64_t models, int64_t rows, int64_t columns, float *into) {
    for (int64_t e = 0; e < models; e++)
        for (int64_t k = 0; k < columns; k++)
            for (int64_t m = 0; m < rows; m++) into[(e * columns + k) * rows + m] = weights[(e * rows + m) * columns + k];
}

/* Adds to the patch of a small pixel what its 16 taps gave. */
static void add_patch(const float *patch, int64_t run, int64_t width, float *into) {
    for (int64_t i = 0; i < 4; i++)
        for (int64_t k = 0; k < run; k++) into[i * width + k] += patch[i * run + k];
}

int double_(const float *small, const float *weights, const float *bias, int64_t models, int64_t images, int64_t side,
            int64_t wide, int64_t narrow, int64_t relu, float *big) {
    int64_t pixels = side * side, width = framed(side) * wide, area = framed(side) * width, taps = 16 * wide;
    float *turned = room_for(models * taps * narrow);
    int failed = !turned;
    if (turned) transpose(weights, models, taps, narrow, turned);
#pragma omp parallel
    {
        float *image = room_for(area + ROWS * taps), *patches = image + area;
        if (!image) failed = 1;
#pragma omp for
        for (int64_t n = 0; n < models * images; n++) {
            if (!image || !turned) continue;
            const float *weight = turned + n / images * taps * narrow;
            memset(image, 0, area * sizeof(float));
            for (int64_t first = 0; first < pixels; first += ROWS) {
                int64_t taken = pixels - first < ROWS ? pixels - first : ROWS;
                const float *a[ROWS];
                EACH_ROW a[r] = small + (n * pixels + first + (r < taken ? r : 0)) * narrow;
                for (int64_t column = 0; column < taps; column += COLUMNS) {
                    Sums sums = {0};
                    add_products(&sums, a, narrow, weight + column, taps);
                    EACH_ROW EACH_VECTOR store(patches + r * taps + column + v * WIDTH, sums.at[r][v]);
                }
                for (int64_t r = 0; r < taken; r++)
                    add_patch(patches + r * taps, 4 * wide, width, image + corner(first + r, side) * wide);
            }
            const float *own = bias ? bias + n / images * wide : NULL;
            for (int64_t y = 0; y < 2 * side; y++) {
                const float *from = image + (y + 1) * width + wide;
                float *to = big + (n * 4 * pixels + y * 2 * side) * wide;
                for (int64_t x = 0; x < 2 * side; x++)
                    for (int64_t c = 0; c < wide; c++)
                        to[x * wide + c] = rectified(from[x * wide + c] + (own ? own[c] : 0.0f), relu);
            }
        }
        free(image);
    }
    free(turned);
    return failed;
}

int tap_products(const float *big, const float *small, int64_t models, int64_t images, int64_t side, int64_t wide,
                 int64_t narrow, float *products) {
    int failed = 0;
    int64_t pixels = side * side, width = framed(side) * wide, area = framed(side) * width, run = 4 * wide;
#pragma omp parallel
    {
        float *image = room_for(area + ROWS); /* the last rows of a product may look beyond */
        if (image) memset(image, 0, (area + ROWS) * sizeof(float));
        else failed = 1;
#pragma omp for
        for (int64_t n = 0; n < 4 * models; n++) {
            if (!image) continue;
            int64_t e = n / 4, i = n % 4;
            float *into = products + n * run * narrow;
            memset(into, 0, run * narrow * sizeof(float));
            for (int64_t b = e * images; b < (e + 1) * images; b++) {
                frame(big + b * 4 * pixels * wide, side, wide, image);
                for (int64_t m = 0; m < run; m += ROWS) {
                    int64_t taken = run - m < ROWS ? run - m : ROWS;
                    for (int64_t column = 0; column < narrow; column += COLUMNS) {
                        Sums sums = {0};
                        const float *row = small + b * pixels * narrow + column;
                        for (int64_t y = 0; y < side; y++) {
                            const float *a = image + (2 * y + i) * width + m;
                            for (int64_t x = 0; x < side; x++, a += 2 * wide, row += narrow)
#pragma GCC unroll 4
                                EACH_VECTOR {
                                    many values = load(row + v * WIDTH);
#pragma GCC unroll 8
                                    EACH_ROW sums.at[r][v] += a[r] * values;
                                }
                        }
                        for (int64_t r = 0; r < taken; r++)
                            EACH_VECTOR {
                                float *to = into + (m + r) * narrow + column + v * WIDTH;
                                store(to, load(to) + sums.at[r][v]);
                            }
                    }
                }
            }
        }
        free(image);
    }
    return failed;
}
