/* The tree of weights of goexplore/selection/_sum_tree.py: the same sums, in the same order, so the same bits. */
#ifndef GOEXPLORE_SUM_TREE_H
#define GOEXPLORE_SUM_TREE_H

#include <stddef.h>
#include <stdint.h>

/* Recompute everything above some nodes, which are in rising order and are used up. */
static void sum_tree_sum_up(double *nodes, int64_t *changed, size_t count)
{
    while (count > 0 && changed[0] > 1) {
        size_t parents = 0;
        for (size_t at = 0; at < count; at++) {
            const int64_t parent = changed[at] >> 1;
            if (parents == 0 || changed[parents - 1] != parent) {
                nodes[parent] = nodes[2 * parent] + nodes[2 * parent + 1];
                changed[parents++] = parent;
            }
        }
        count = parents;
    }
}

/* Return the leaf at a position on the wheel. */
static int64_t sum_tree_find(const double *nodes, size_t node_count, double position)
{
    const size_t half = node_count / 2;
    size_t node = 1;
    while (node < half) {
        const double left = nodes[2 * node];
        /* Rounding may leave a rest beyond the last weight: never go where there is no weight. */
        const size_t right = position >= left && nodes[2 * node + 1] > 0;
        position -= right ? left : 0;
        node = 2 * node + right;
    }
    return (int64_t)(node - half);
}

#endif
