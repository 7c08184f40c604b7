import Foundation
import struct Garden.Hose
@testable import GardenKit

/// The most rows that fit.
let maxRows = 12
var counter = 0

/// A bed of plants.
///
/// Beds are watered row by row.
@available(macOS 12, *)
public final class Bed<T: Plant>: Plot, Waterable {
    static let minRows = 1
    private let plants: [T]

    init(plants: [T]) {
        self.plants = plants
        super.init(size: plants.count)
    }

    deinit { release() }

    /** Waters every row. */
    public override func water(litres: Int) throws {
        self.check(litres)
        Spade.dig(litres)
        plants.forEach { $0.drink() }
        let hose = Hose(litres: litres)
        try hose.run()
        helper()
        Self.log(litres)
    }

    fileprivate func check(_ litres: Int) -> Bool { litres > 0 }

    class func log(_ litres: Int) {}

    subscript(at: Int) -> T { plants[at] }

    struct Row {
        var count: Int
        mutating func grow() { count += 1 }
    }
}

protocol Waterable: AnyObject, Tendable {
    associatedtype Water
    var dry: Bool { get }
    func water(litres: Int) throws
}

public enum Weather: String, CaseIterable {
    case sun
    case rain(Int)

    var wet: Bool { self == .sun }
}

extension Bed: Equatable where T: Equatable {
    static func == (a: Bed, b: Bed) -> Bool { a.plants == b.plants }
    func twice() { water(litres: 2) }
}

actor Pump {
    func run() async { await spin() }
}

typealias Litres = Int

// Helps.
private func helper() { print("helped") }

func + (a: Row, b: Row) -> Row { a }

final class BedTests: XCTestCase {
    func testWatersEveryRow() throws {
        let bed = Bed(plants: [])
        try bed.water(litres: 3)
        XCTAssertEqual(Bed.minRows, 1)
    }
}

@Test("counts rows") func countsRows() {
    #expect(maxRows == 12)
}

#if DEBUG
func onlyInDebug() { helper() }
#endif
