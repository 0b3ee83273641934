// The recurrence of algorithms/cutting.py for whole numbers (cut_lanes and follow), in C++:
// what a compiler makes of the same loops, to hold the kernels against.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

constexpr int kLanes = 128;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

extern "C" double cut(const double* columns, int d, std::int64_t n, int k, std::uint8_t* sizes,
                      std::int64_t* labels) {
  // each of the d columns has 2k - 1 values of padding before its n values; `sizes` holds n + 1
  const int reach = 2 * k - 1;
  std::vector<double> cost(reach + kLanes, kNever), losses(k * kLanes);
  cost[reach - 1] = 0.0;
  double sums[kLanes], squares[kLanes], total = 0.0;
  sizes[0] = 0;
  for (std::int64_t start = 0; start < n; start += kLanes) {
    const int held = static_cast<int>(std::min<std::int64_t>(kLanes, n - start));
    std::fill(losses.begin(), losses.end(), 0.0);
    for (int j = 0; j < d; ++j) {
      const double* column = columns + j * (reach + n);
      const double* last = column + start + reach;
      std::fill(sums, sums + kLanes, 0.0);
      std::fill(squares, squares + kLanes, 0.0);
      for (int m = 1; m < 2 * k; ++m) {
        const double* joining = column + start + reach + 1 - m;
        for (int i = 0; i < held; ++i) {
          const double difference = joining[i] - last[i];
          sums[i] += difference;
          squares[i] += difference * difference;
        }
        if (m < k) continue;
        const double share = 1.0 / m;
        double* loss = losses.data() + (reach - m) * kLanes;
        for (int i = 0; i < held; ++i) {
          const double centroid = std::rint(sums[i] * share);
          loss[i] += squares[i] - centroid * (2 * sums[i] - m * centroid);
        }
      }
    }
    for (int i = 0; i < held; ++i) {
      double best = kNever;
      int row = 0;
      for (int j = 0; j < k; ++j) {
        const double loss = cost[i + j] + losses[j * kLanes + i];
        const bool better = loss < best;
        best = better ? loss : best;
        row = better ? j : row;
      }
      sizes[start + 1 + i] = static_cast<std::uint8_t>(reach - row);
      cost[i + reach] = best;
    }
    double base = *std::min_element(cost.begin() + held, cost.begin() + held + reach);
    if (base == kNever) base = 0.0;
    for (int i = 0; i < reach; ++i) cost[i] = cost[held + i] - base;
    total += base;
  }
  total += cost[reach - 1];
  std::int64_t groups = 0;
  for (std::int64_t e = n; e > 0; e -= sizes[e]) ++groups;
  for (std::int64_t e = n; e > 0;) {
    const std::int64_t s = e - sizes[e];
    --groups;
    std::fill(labels + s, labels + e, groups);
    e = s;
  }
  return total;
}
