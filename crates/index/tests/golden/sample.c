/* Licensed to nobody. */
#include <stdio.h>
#include "garden/plot.h"
#include "bed.h"

#ifndef BED_C
#define BED_C

/** How many rows fit. */
#define MAX_ROWS 12
#define ROWS_OF(bed) ((bed)->rows)

#ifdef __cplusplus
extern "C" {
#endif

/* A row of plants. */
struct row {
    int count;
    struct row *next;
};

typedef struct {
    struct row *rows;
    int (*water)(int litres);
} bed_t;

typedef struct plot { int size; } plot_t;
typedef unsigned long litres_t;
typedef int (*waterer)(bed_t *bed, litres_t litres);

/// What the weather does.
enum weather { SUN, RAIN = 4 };

union drop { int i; float f; };

static const int min_rows = 1;
const char *const names[] = { "rose", "tulip" };
int counter;

int bed_count(const bed_t *bed);

/*
 * Waters a bed.
 *
 * Returns how many rows were reached.
 */
int bed_water(bed_t *bed, litres_t litres)
{
    if (!bed->water)
        return bed_count(bed);
    (*bed->water)(litres);
    bed->water(litres);
    printf("%d\n", ROWS_OF(bed)->count);
    return row_water(bed->rows, litres);
}

static struct row *row_new(int count) {
    struct row *row = malloc(sizeof(*row));
    return row;
}

// Has a name that is not ASCII.
void größe(void) { counter++; }

char (*table(void))[4] { return 0; }

void test_bed_water(void) {
    assert(bed_water(0, 1) == 1);
}

int old_style(a, b)
    int a;
    int b;
{
    return a + b;
}

#ifdef __cplusplus
}
#endif
#endif
