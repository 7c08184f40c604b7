package org.garden
package beds

import org.garden.tools.Spade
import org.garden.tools.{Hose => Pipe, Pump}
import org.garden.weather._
import scala.util.{Try as Attempt, *}

/** The most rows that fit. */
val maxRows = 12

/**
 * A bed of plants.
 */
@deprecated("use Plot", "1.0")
class Bed[T <: Plant](val plants: List[T]) extends Plot(plants.size) with Waterable {
  private val wet = false
  lazy val later: Int = compute()

  def this(one: T) = this(List(one))

  override def water(litres: Int): Unit = {
    this.check(litres)
    Spade.dig(litres)
    plants.foreach(plant => plant.drink(litres))
    new Pipe(litres).run()
    helper(litres)
    def local(x: Int) = twice(x)
    local(1)
    plants map drink
  }

  protected def check(litres: Int): Boolean = litres > 0

  private[beds] def pick[K](first: K): K = first
}

object Bed {
  val MinRows = 1
  def empty: Bed[Plant] = new Bed(Nil)
  def apply(rows: Int): Bed[Plant] = empty
}

trait Waterable extends Tendable {
  type Water
  def water(litres: Int): Unit
}

sealed abstract class Shape
case class Rose(name: String) extends Plant(name) with Thorny
case object Nothing2 extends Shape

enum Weather(val wet: Boolean):
  case Sun extends Weather(false)
  case Rain extends Weather(true)
  def describe: String = toString

type Litres = Int

given ordering: Ordering[Bed[Plant]] = Ordering.by(_.plants.size)

extension (bed: Bed[Plant])
  def twice(litres: Int): Unit = bed.water(litres * 2)

// Helps.
def helper(litres: Int): Unit = println(s"helped ${litres}")

class BedSuite extends FunSuite {
  test("waters every row") {
    assertEquals(Bed.empty.water(3), ())
  }
}

class BedSpec extends AnyFlatSpec with Matchers {
  "A bed" should "count rows" in {
    Bed(4).check(1) shouldBe true
  }

  it should "be empty" in {
    Bed.empty
  }
}

class BedWords extends AnyFunSpec {
  describe("a bed") {
    it("is dry") {
      helper(0)
    }
  }
}
