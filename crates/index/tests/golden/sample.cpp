#include <vector>
#include "garden/bed.hpp"

#define GARDEN_API __attribute__((visibility("default")))
#define TWICE(x) ((x) * 2)

namespace garden::beds {

/// A thing that can be watered.
class Waterable {
public:
    virtual ~Waterable() = default;
    /// Waters it.
    virtual void water(int litres) = 0;
};

/**
 * A bed of plants.
 */
template <typename T, int Rows = 4>
class Bed final : public Plot, protected virtual Waterable {
    int rows_ = Rows;
    static constexpr int kMaxRows = 12;

public:
    explicit Bed(std::vector<T> plants) : Plot(plants.size()), plants_(std::move(plants)) {}
    ~Bed() override;

    void water(int litres) override {
        this->check(litres);
        drain(litres);
        Pump::instance().run(litres);
        for (auto &plant : plants_) plant.drink(litres);
        auto hose = std::make_unique<Hose>(litres);
        Hose other(litres);
        new Spade(litres);
    }

    bool operator==(const Bed &other) const { return rows_ == other.rows_; }
    T &operator[](int at) { return plants_[at]; }
    explicit operator bool() const { return rows_ > 0; }
    int count() const;

    enum class Weather : unsigned char { Sun, Rain };
    using Plants = std::vector<T>;

protected:
    void check(int litres) const {}

private:
    struct Row {
        int count;
        Row *next() { return nullptr; }
    };
    Plants plants_;
};

template <typename T, int Rows>
int Bed<T, Rows>::count() const {
    return rows_;
}

Plot::Plot(int size) : size_(size) {}

Plot::~Plot() { release(size_); }

std::string Plot::name() const {
    return beds::describe(*this);
}

template <typename T>
T pick(T first) {
    return first;
}

constexpr double kLitres = 2.5;
static const std::string kName{"bed"};
typedef int litres_t;
union Drop { int i; float f; };

namespace {
void hidden() { ::abort(); }
}  // namespace

template <class T>
concept Tended = requires(T t) { t.tend(); };

}  // namespace garden::beds

using namespace garden::beds;

TEST(BedTest, WatersEveryRow) {
    Bed<Rose> bed({});
    bed.water(3);
    EXPECT_EQ(bed.count(), 4);
}

TEST_F(BedFixture, CountsRows) {
    ASSERT_TRUE(check_rows(bed_));
}

TEST_CASE("a bed is empty", "[bed]") {
    REQUIRE(pick(1) == 1);
}

int main(int argc, char **argv) {
    auto later = [&] { return TWICE(argc); };
    return later();
}
