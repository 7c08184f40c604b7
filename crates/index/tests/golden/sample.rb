# frozen_string_literal: true

require 'set'
require "garden/tools"
require_relative '../plot'

# Everything about beds.
module Garden
  MAX_ROWS = 12

  # A bed of plants.
  #
  # Beds are watered row by row.
  class Bed < Plot
    include Waterable
    extend Enumerable, Tools::Spade

    attr_reader :plants
    LIMITS = { rows: 3 }.freeze

    def self.empty
      new([])
    end

    class << self
      def build(rows) = new(Array.new(rows))
    end

    def initialize(plants)
      super(plants.size)
      @plants = plants
    end

    def water(litres)
      self.check(litres)
      plants.each { |plant| plant.drink(litres) }
      Garden::Pump.default.run(Hose.new(litres))
      helper litres
      Tools::Spade.dig
      yield litres if block_given?
    end

    def dry? = !@wet

    def [](at)
      plants[at]
    end

    protected

    def check(litres)
      litres.positive? or raise ArgumentError, "no water"
    end

    private

    def helper(litres)
      puts(<<~TEXT)
        watered with #{format_litres(litres)}
      TEXT
    end

    public

    def name
      "bed"
    end

    private def hidden = 1

    Row = Struct.new(:count) do
      def empty? = count.zero?
    end
  end

  class Tools::Rake; end
end

def top_level
  Garden::Bed.empty
end

class BedTest < Minitest::Test
  def test_waters_every_row
    assert_equal 3, Garden::Bed.new([]).water(3)
  end

  test "counts rows" do
    assert Garden::Bed.empty
  end
end

RSpec.describe Garden::Bed do
  let(:bed) { described_class.empty }

  describe '#water' do
    context 'when dry' do
      it 'waters every row' do
        expect(bed.water(3)).to eq(3)
      end

      specify { top_level }
    end
  end
end
