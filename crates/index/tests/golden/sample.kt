package org.garden.beds

import org.garden.tools.Spade
import org.garden.tools.Hose as Pipe
import org.garden.weather.*

/** The most rows that fit. */
const val MAX_ROWS = 12
private val log = Logger.of("bed")

typealias Rows = List<Row>

/**
 * A bed of plants.
 */
@Serializable
open class Bed<T : Plant>(val plants: List<T>) : Plot(plants.size), Waterable {
    constructor(one: T) : this(listOf(one))

    init {
        require(plants.size < MAX_ROWS)
    }

    override fun water(litres: Int) {
        this.check(litres)
        Spade.dig(litres)
        plants.forEach { it.drink() }
        Pipe(litres).run()
        helper()
    }

    protected fun check(litres: Int): Boolean = litres > 0

    private suspend fun <K> pick(first: K): K {
        fun local() = first
        return local()
    }

    companion object {
        const val MIN_ROWS = 1
        fun empty(): Bed<Plant> = Bed(emptyList())
    }

    inner class Row(val count: Int)
}

interface Waterable : Tendable {
    fun water(litres: Int)
    val dry: Boolean
}

sealed interface Shape

enum class Weather(val wet: Boolean) {
    SUN(false),
    RAIN(true);

    fun name2() = toString()
}

data class Rose(val name: String) : Plant()

object Pump : Machine {
    internal fun start() = spin(1)
}

annotation class Tended

// Waters twice.
fun Bed<Plant>.waterTwice(litres: Int) {
    water(litres)
    water(litres)
}

private fun helper() = println("helped")

class BedTest {
    @Test
    fun `waters every row`() {
        Bed.empty().water(3)
    }

    @org.junit.jupiter.api.Test
    fun counts() {
        assertEquals(1, Bed.MIN_ROWS)
    }
}

class BedSpec : FunSpec({
    test("a bed is empty") {
        Bed.empty().check(1)
    }
})
